import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import type { Json } from '../support/delay-payloads.js';

/** What goes in comes back the same: times, payloads and keys, through the table and a handler. */
let database: TestDatabase;
let node: DelayNode;
const received = new Map<string, unknown>();

beforeAll(async () => {
  database = await createTestDatabase();
  const echo = plainHandler('test.echo', ({ id, payload }) => void received.set(id, payload));
  node = await startNode({ url: database.url, providers: [echo] });
});

afterEach(() => node.dataSource.query('TRUNCATE delay_queue.delay'));

afterAll(async () => {
  await node.stop();
  await database.drop();
});

const isStorable = (value: Json): boolean => {
  const text = JSON.stringify(value);
  return !text.includes('\\u0000') && !text.includes('"__proto__"') && !hasBigInteger(value);
};

/** Any JSON that a payload may be; `-0` becomes 0 in jsonb. */
const json = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'binary' })
  .map((value) => value as Json)
  .filter(isStorable);

/** What JSON libraries and databases get wrong: the ends of the doubles, odd keys, depth. */
const oddText = fc.oneof(
  fc.constantFrom(
    '',
    '1',
    '01',
    '-1',
    'constructor',
    'toString',
    'NaN',
    'null',
    '\u2028',
    '\uFFFF',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', ',', "'", '\n', '\x7F', 'NULL'),
    maxLength: 9,
  }),
);
const oddNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(
    5e-324,
    2.2250738585072014e-308,
    0.1 + 0.2,
    1e-7,
    2 ** 53 - 1,
    1 - 2 ** 53,
    1e15 + 0.5,
  ),
);
const oddJson = fc
  .tuple(
    fc.dictionary(oddText, fc.oneof(oddNumber, oddText, fc.array(oddNumber, { maxLength: 4 }))),
    fc.nat(63),
  )
  .map(([inner, depth]) => {
    let value: Json = inner;
    for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { '': value };
    return value;
  })
  // A payload may have 64 levels: the list of doubles is one, the dictionary another.
  .filter((value) => isStorable(value) && depthOf(value) <= 64);

it('dueAt is the stored due time to the millisecond, whatever the duration', async () => {
  const afters = fc.oneof(
    fc.integer({ min: 0, max: 2 ** 40 }),
    fc.double({ min: 0, max: 1e9, noNaN: true }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(afters, { minLength: 1, maxLength: 30 }), async (list) => {
      const items = list.map((after) => ({ name: 'test.h' as const, payload: null, after }));
      const results = await node.delays.scheduleMany(items);
      const stored: { id: string; due_ms: string }[] = await node.dataSource.query(
        `SELECT id::text, (extract(epoch FROM due_at) * 1000)::text AS due_ms
         FROM delay_queue.delay`,
      );
      const dueMs = new Map(stored.map((row) => [row.id, Number(row.due_ms)]));
      for (const { id, dueAt } of results) expect(dueMs.get(id)).toBe(dueAt.getTime());
      await node.dataSource.query('TRUNCATE delay_queue.delay');
    }),
    { numRuns: 25 },
  );
});

it('the payload is what went in, through find and through a handler', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(json, { minLength: 1, maxLength: 20 }), async (payloads) => {
      const waits = payloads.map((payload, n) => ({
        name: 'test.h' as const,
        payload,
        after: '1h' as const,
        key: `k${n}`,
      }));
      await node.delays.scheduleMany(waits);
      for (const [n, payload] of payloads.entries()) {
        const found = await node.delays.find('test.h', `k${n}`);
        expect(found?.payload).toEqual(withoutNegativeZero(payload));
      }
      let open = payloads.length;
      const all = node.next('completed', () => --open === 0);
      const fires = payloads.map((payload) => ({
        name: 'test.echo' as const,
        payload,
        after: 0,
      }));
      const results = await node.delays.scheduleMany(fires);
      await all;
      expect(results.map(({ id }) => received.get(id))).toEqual(payloads.map(withoutNegativeZero));
    }),
    { numRuns: 30 },
  );
});

it('so is the oddest one, also where it replaces another and where a dead letter comes back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddJson, { minLength: 1, maxLength: 10 }), async (payloads) => {
      const items = payloads.map((payload, n) => ({
        name: 'test.h' as const,
        payload,
        after: '1h' as const,
        key: `odd${n}`,
      }));
      await node.delays.scheduleMany(items.map((item) => ({ ...item, payload: 'first' })));
      const replaced = await node.delays.scheduleMany(items);
      expect(new Set(replaced.map(({ verdict }) => verdict))).toEqual(new Set(['replaced']));
      await node.dataSource.query(`UPDATE delay_queue.delay SET wake_at = 'infinity'`);
      for (const { key, payload } of items) {
        await node.delays.retryDead('test.h', key);
        const found = await node.delays.find('test.h', key);
        expect(found?.payload).toEqual(withoutNegativeZero(payload));
      }
      await node.dataSource.query('TRUNCATE delay_queue.delay');
    }),
    { numRuns: 40 },
  );
});

it('keys are told apart to the last bit, whatever they are made of', async () => {
  const odd = [
    'é',
    'e\u0301',
    'A',
    'a',
    ' a',
    'a ',
    '😀',
    '\u202E',
    '\uFEFF',
    '%',
    "'",
    '"',
    '\\',
    '{}',
    'ß',
    'ss',
    'İ',
    '\u{10FFFF}',
    '\x01',
    '\x7F',
    ',',
    '\uFFFD',
  ];
  const ids = new Map<string, string>();
  for (const [n, key] of odd.entries()) {
    const { verdict, id } = await node.delays.schedule('test.h', n, { after: '1h', key });
    expect(verdict).toBe('scheduled');
    ids.set(key, id);
  }
  const items = odd.map((key) => ({
    name: 'test.h' as const,
    payload: key,
    after: '1h' as const,
    key,
  }));
  const again = await node.delays.scheduleMany(items);
  expect(again.map(({ id }) => id)).toEqual(odd.map((key) => ids.get(key)));
  for (const key of odd) {
    expect(await node.delays.find('test.h', key)).toMatchObject({ key, payload: key });
    expect(await node.delays.cancel('test.h', key)).toMatchObject({ id: ids.get(key) });
  }
});

function hasBigInteger(value: Json): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(hasBigInteger);
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const withoutNegativeZero = (value: Json): unknown => JSON.parse(JSON.stringify(value)) as unknown;
