import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { ITEMS } from './corpus/items.js';
import { KEYS, NAMES } from './corpus/names-and-keys.js';
import { OPTIONS } from './corpus/options.js';
import { PAYLOADS } from './corpus/payloads.js';
import { DURATIONS, TIMES } from './corpus/times.js';
import { ODD_BATCHES } from './odd-batches/index.js';
import { ODD_HANDLERS } from './odd-handlers/index.js';
import type { Case } from './support/every-case.js';

/** Each corpus and the spec that runs all of it. */
const CORPORA: [name: string, corpus: readonly Case[], spec: string][] = [
  ['PAYLOADS', PAYLOADS, '../integration/hostile-input.spec.ts'],
  ['TIMES', TIMES, '../integration/hostile-input.spec.ts'],
  ['NAMES', NAMES, '../integration/hostile-input.spec.ts'],
  ['KEYS', KEYS, '../integration/hostile-input.spec.ts'],
  ['OPTIONS', OPTIONS, '../integration/hostile-input.spec.ts'],
  ['ITEMS', ITEMS, '../integration/hostile-input.spec.ts'],
  ['ODD_HANDLERS', ODD_HANDLERS, './odd-handlers.spec.ts'],
  ['ODD_BATCHES', ODD_BATCHES, './odd-batches.spec.ts'],
];

it.each(CORPORA)('every case of %s has a name of its own, and runs', (name, corpus, spec) => {
  const names = corpus.map(({ what }) => what);
  expect(names.filter((what, index) => names.indexOf(what) !== index)).toEqual([]);
  // `everyCase` makes a test of each, and one that fails when a case was left out.
  const source = readFileSync(new URL(spec, import.meta.url), 'utf8');
  expect(source).toContain(`everyCase(${name},`);
});

it('there are enough of them: over the service and the handlers', () => {
  const sizes = Object.fromEntries(CORPORA.map(([name, corpus]) => [name, corpus.length]));
  const { PAYLOADS: payloads = 0, TIMES: times = 0, ODD_HANDLERS: odd = 0, ...others } = sizes;
  expect(others['ODD_BATCHES']).toBeGreaterThanOrEqual(150);
  expect(payloads).toBeGreaterThanOrEqual(50);
  expect(times).toBeGreaterThanOrEqual(40);
  expect(odd).toBeGreaterThanOrEqual(150);
  expect(Object.values(sizes).reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(450);
  expect(DURATIONS.every((duration) => TIMES.includes(duration))).toBe(true);
});
