import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { generatedPage, writtenPage } from '../../tools/api-tables/page.js';
import { declarationOf } from '../../src/delay-queue/handlers/declaration.js';
import { handlerSettings } from '../../src/delay-queue/handlers/handler-settings.js';
import { resolveOptions } from '../../src/delay-queue/options/resolve-options.js';
import { filterOf } from '../../src/delay-queue/producer/selection-arguments.js';
import { tasksOf } from '../../src/delay-queue/runtime/listed-tasks.js';
import { wordsOf } from './compile.js';
import { coded, prose, readDocument, ROOT, tableUnder } from './documents.js';

const API = readDocument('docs/api.md');
const STATES = readDocument('docs/state-machine.md');
const LIBRARY = 'src/delay-queue';
const DEFAULTS = resolveOptions({ nodeName: 'a' });

const rowsUnder = (heading: string): string[][] => tableUnder(API, heading).slice(1);
const firstColumn = (rows: string[][]): string[] => rows.map(([cell]) => coded(cell));

/** The value that the table gives as a default. */
const valueOf = (cell: string | undefined): unknown =>
  structuredClone(runInNewContext(`(${coded(cell)})`));

/** Every class of the library with a code, in any of its files. */
function codesOfTheLibrary(): Record<string, string> {
  const files = readdirSync(join(ROOT, LIBRARY), { recursive: true, encoding: 'utf8' });
  const sources = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, LIBRARY, file), 'utf8'));
  const pattern = /class (\w+) extends DelayError \{\s+readonly code = '(\w+)'/g;
  return Object.fromEntries(
    sources.flatMap((source) =>
      [...source.matchAll(pattern)].map(([, name = '', code = '']) => [code, name]),
    ),
  );
}

const MINUTE_MS = 60_000;

/** Of numbers 1; of durations milliseconds, which every duration may be. */
const UNITS: Record<string, number> = {
  '': 1,
  bytes: 1,
  MiB: 1_048_576,
  ms: 1,
  s: 1_000,
  h: 60 * MINUTE_MS,
  d: 24 * 60 * MINUTE_MS,
  years: 365.25 * 24 * 60 * MINUTE_MS,
};

/** What checks an option of each table, with what has to stand beside it. */
const CHECKS: Record<string, (options: object) => unknown> = {
  Options: (options) => resolveOptions({ horizon: '1h', loadEvery: '100ms', ...options }),
  Handlers: (options) => handlerSettings({ name: 'a', options }, 'A.b', DEFAULTS, () => {}),
  'Recurring delays': (options) => declarationOf('a', options, DEFAULTS.payloads),
};

/** As it is given: `1,000`, `24 d` in milliseconds. */
const amount = (digits: string, unit: string): number =>
  Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);

/** The ranges that are two numbers or two durations: `1 to 10,000`, `100 ms to 1 h, below ...`. */
const RANGES = Object.keys(CHECKS).flatMap((heading) =>
  rowsUnder(heading).flatMap(([option, , range = '']) => {
    const [, min, unitOfMin = '', max, unit = '', rest = ''] =
      /^([\d,]+)(?: (\w+))? to ([\d,]+)(?: (\w+))?(, below.*)?$/.exec(range) ?? [];
    if (min === undefined || max === undefined) return [];
    return [
      {
        heading,
        option: coded(option),
        min: amount(min, unitOfMin),
        // What is below another option ends before its own range does.
        max: amount(max, unit) - (rest === '' ? 0 : 1),
      },
    ];
  }),
);

it('docs/operations.md lists exactly the recurring tasks of a worker, in their order', () => {
  const OPERATIONS = readDocument('docs/operations.md');
  const rows = tableUnder(OPERATIONS, 'Recurring tasks in SchedulerRegistry').slice(1);
  const names = tasksOf({ worker: true }).map((duty) => `delay-queue:${duty}`);
  expect(firstColumn(rows)).toEqual(names);
});

describe('docs/api.md', () => {
  it('has the tables that the code says', async () => {
    const isAsTheCodeSays = writtenPage() === (await generatedPage());
    expect(isAsTheCodeSays || 'no: run `npm run docs:tables`, and read what it changes').toBe(true);
  });

  it('has the default of each option', () => {
    for (const [option, value] of rowsUnder('Options')) {
      const name = coded(option);
      if (name === 'nodeName') continue;
      expect({ name, ...resolveOptions({ nodeName: 'a', [name]: valueOf(value) }) }).toEqual({
        name,
        ...DEFAULTS,
      });
    }
  });

  it.each(RANGES)('has the range of $option ($heading)', ({ heading, option, min, max }) => {
    const given = (value: number) => () => CHECKS[heading]?.({ [option]: value });
    expect([given(min), given(max)].map((right) => right())).toHaveLength(2);
    expect(given(min - 1)).toThrow(`${option}: must`);
    expect(given(max + 1)).toThrow(`${option}: must`);
  });

  it('has all errors of the library, for all are exported', () => {
    const listed = rowsUnder('Errors').map(([code, name]) => [coded(code), coded(name)]);
    expect(Object.fromEntries(listed)).toEqual(codesOfTheLibrary());
  });

  it('has the options that @RepeatDelay takes', () => {
    const options = firstColumn(rowsUnder('Recurring delays'));
    expect(() => declarationOf('test.a', { nothingLikeIt: 1 }, DEFAULTS.payloads)).toThrow(
      `there are ${options.join(', ')}`,
    );
  });

  it('has the fields that a filter takes', () => {
    const fields = firstColumn(rowsUnder('Filters'));
    expect(() => filterOf({ nothingLikeIt: 1 }, { mayBeEmpty: true })).toThrow(
      `there are ${fields.join(', ')}`,
    );
  });
});

describe('docs/state-machine.md', () => {
  it('tells the states of find and of history', () => {
    const [live, ends] = prose(STATES)
      .split(/^\| end /m)
      .map((part) => [...part.matchAll(/^\| `(\w+)`/gm)].map(([, state]) => state));
    expect(live?.toSorted()).toEqual(wordsOf(`${LIBRARY}/delay/delay.ts`, 'LiveState').toSorted());
    expect(ends?.toSorted()).toEqual(wordsOf(`${LIBRARY}/delay/delay.ts`, 'EndState').toSorted());
  });

  it('draws no other state', () => {
    const drawn = [...STATES.text.matchAll(/^ {2}(\w+) --> (\w+|\[\*\])/gm)].flatMap(
      ([, from, to]) => [from, to],
    );
    const states = ['LiveState', 'EndState'].flatMap((name) =>
      wordsOf(`${LIBRARY}/delay/delay.ts`, name),
    );
    expect(new Set(drawn.filter((state) => state !== '[*]'))).toEqual(new Set(states));
  });

  it('mentions every statement that writes a delay', () => {
    const writes = /(?:UPDATE|DELETE FROM|INSERT INTO) \$\{(?:tables\.)?delay\}/;
    const folder = join(ROOT, LIBRARY, 'store/sql');
    const missing = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => writes.test(readFileSync(join(folder, file), 'utf8')))
      .filter((file) => !STATES.text.includes(`store/sql/${file}`));
    expect(missing).toEqual([]);
  });
});
