import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { generatedPage, writtenPage } from '../../tools/api-tables/page.js';
import { coded, readDocument, ROOT, tableUnder } from './documents.js';
import {
  handlerSettings,
  liveFilter,
  parseDeclaration,
  resolveOptions,
} from '../support/option-checks.js';

const API = readDocument('docs/api.md');
const DEFAULTS = resolveOptions({ nodeName: 'a' });

const rowsUnder = (heading: string): string[][] => tableUnder(API, heading).slice(1);

it('docs/api.md has the tables that the code says', async () => {
  const isAsTheCodeSays = writtenPage() === (await generatedPage());
  expect(isAsTheCodeSays || 'no: run `npm run docs:tables`, and read what it changes').toBe(true);
});

it('docs/api.md has the default of each option', () => {
  for (const [option, value] of rowsUnder('Options')) {
    const name = coded(option);
    // They depend on the node, and on its pool.
    if (name === 'nodeName' || name === 'transactionalConnections') continue;
    const given: unknown = structuredClone(runInNewContext(`(${coded(value)})`));
    const resolved = resolveOptions({ nodeName: 'a', [name]: given });
    expect({ name, ...resolved }).toEqual({ name, ...DEFAULTS });
  }
});

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

/** As it is given: `1,000`, `24 d` in milliseconds. */
const amount = (digits: string, unit = ''): number =>
  Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);

/** What checks an option of each table, with what has to stand beside it. */
const CHECKS: Record<string, (options: object) => unknown> = {
  Options: (options) => resolveOptions({ horizon: '1h', loadEvery: '100ms', ...options }),
  Handlers: (options) => handlerSettings({ name: 'a', options }, 'A.b', DEFAULTS, () => {}),
  'Recurring delays': (options) => parseDeclaration('a', options, DEFAULTS.payloads),
};

/** So many milliseconds look like a point in time. */
const written = (value: number) => (value < 1e12 ? value : `${value / 86_400_000}d`);

it.each(Object.keys(CHECKS))('docs/api.md has the ranges of its options: %s', (heading) => {
  for (const [cell, , range = ''] of rowsUnder(heading)) {
    // Two numbers or two durations: `1 to 10,000`, `100 ms to 1 h, below ...`.
    const found = /^([\d,]+)(?: (\w+))? to ([\d,]+)(?: (\w+))?(, below.*)?$/.exec(range);
    if (found === null) continue;
    const [, least = '', unitOfLeast, most = '', unit, below] = found;
    const [option, min] = [coded(cell), amount(least, unitOfLeast)];
    // What is below another option ends before its own range does.
    const max = amount(most, unit) - (below === undefined ? 0 : 1);
    const given = (value: number) => () => CHECKS[heading]?.({ [option]: written(value) });
    for (const right of [min, max]) expect(given(right)).not.toThrow();
    for (const wrong of [min - 1, max + 1]) expect(given(wrong)).toThrow(`${option}: must`);
  }
});

it('docs/api.md has every class of the library with a code, in any of its files', () => {
  const folder = join(ROOT, 'src/delay-queue');
  const source = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  const classes = source.matchAll(
    /class (\w+) extends DelayError \{\s+(?:protected .+\s+)?readonly code = '(\w+)'/g,
  );
  const listed = rowsUnder('Errors').map(([code, name]) => [coded(code), coded(name)]);
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries([...classes].map(([, name, code]) => [code, name])),
  );
});

it.each<[heading: string, take: (options: object) => unknown]>([
  ['Recurring delays', (options) => parseDeclaration('test.a', options, DEFAULTS.payloads)],
  ['Filters', (options) => liveFilter(options, { mayBeEmpty: true })],
])('docs/api.md has all that one takes: %s', (heading, take) => {
  const fields = rowsUnder(heading).map(([cell]) => coded(cell));
  expect(() => take({ nothingLikeIt: 1 })).toThrow(`there are ${fields.join(', ')}`);
});
