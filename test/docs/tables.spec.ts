import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { DelayAdmin, DelayService } from 'nestjs-delay-queue';
import { declarationOf } from '../../src/delay-queue/handlers/declaration.js';
import { resolveOptions } from '../../src/delay-queue/options/resolve-options.js';
import { membersOf, wordsOf } from './compile.js';
import { coded, prose, readDocument, ROOT, tableUnder } from './documents.js';

const API = readDocument('docs/api.md');
const STATES = readDocument('docs/state-machine.md');
const LIBRARY = 'src/delay-queue';

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

/** They answer no verdict. */
const READS = new Set(['find', 'history', 'list', 'count', 'story', 'stats']);

describe('docs/api.md lists', () => {
  it('exactly the options of the module', () => {
    expect(firstColumn(rowsUnder('Options')).toSorted()).toEqual(
      membersOf(`${LIBRARY}/options/delay-queue.options.ts`, 'DelayQueueOptions').toSorted(),
    );
  });

  it('the default of each option', () => {
    const nodeName = 'a';
    const defaults = resolveOptions({ nodeName });
    for (const [option, value] of rowsUnder('Options')) {
      const name = coded(option);
      if (name === 'nodeName') continue;
      expect({ name, ...resolveOptions({ nodeName, [name]: valueOf(value) }) }).toEqual({
        name,
        ...defaults,
      });
    }
  });

  it('exactly the options of a handler', () => {
    const names = firstColumn(rowsUnder('Handlers'));
    const decorator = `${LIBRARY}/handlers/on-delay.decorator.ts`;
    const known = ['OnDelayOptions', 'OnDelayBatchOptions'].flatMap((type) =>
      membersOf(decorator, type),
    );
    expect(names.toSorted()).toEqual(known.toSorted());
  });

  it('exactly the errors, with code and class', () => {
    const listed = rowsUnder('Errors').map(([code, name]) => [coded(code), coded(name)]);
    expect(Object.fromEntries(listed)).toEqual(codesOfTheLibrary());
  });

  it('exactly the events', () => {
    expect(firstColumn(rowsUnder('Events')).toSorted()).toEqual(
      membersOf(`${LIBRARY}/delay/delay.events.ts`, 'DelayEventMap').toSorted(),
    );
  });

  it.each([
    ['Methods', DelayService],
    ['Administration', DelayAdmin],
  ])('%s: exactly the methods there are', (heading, { prototype }) => {
    const methods = Object.getOwnPropertyNames(prototype);
    expect(firstColumn(rowsUnder(heading)).toSorted()).toEqual(
      methods.filter((name) => name !== 'constructor').toSorted(),
    );
  });

  it('exactly the options of @RepeatDelay', () => {
    const options = firstColumn(rowsUnder('Recurring delays'));
    const { payloads } = resolveOptions({});
    expect(() => declarationOf('test.a', { nothingLikeIt: true }, payloads)).toThrow(
      `there are ${options.join(', ')}`,
    );
  });

  it('exactly the fields of a filter', () => {
    const fields = membersOf(`${LIBRARY}/delay/selection.ts`, 'DelayFilter');
    expect(firstColumn(rowsUnder('Filters')).toSorted()).toEqual(fields.toSorted());
  });

  it('all verdicts', () => {
    const rows = [...rowsUnder('Methods'), ...rowsUnder('Administration')];
    const source = readFileSync(join(ROOT, LIBRARY, 'delay/verdicts.ts'), 'utf8');
    const inCode = [...source.matchAll(/verdict: ([^;]+);/g)].flatMap(([, union = '']) =>
      [...union.matchAll(/'(\w+)'/g)].map(([, verdict]) => verdict),
    );
    const inTable = rows
      .filter(([method]) => !READS.has(coded(method)))
      .flatMap(([, , verdicts = '']) => [...verdicts.matchAll(/`(\w+)`/g)].map(([, word]) => word))
      .filter((word) => !['schedule', 'cancel', 'reschedule'].includes(word ?? ''));
    expect(new Set(inTable)).toEqual(new Set(inCode));
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
