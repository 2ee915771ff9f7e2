import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { plainHandler } from '../support/delay-node.js';
import type { Json } from '../support/delay-payloads.js';
import { OneNode } from '../support/one-node.js';
import { runnerOn } from '../support/other-node.js';
import { DelayStore, encodePayload, type MoveTo } from '../support/engine-parts.js';

/** What goes in comes back the same: times and payloads, through the table and a handler. */
const received = new Map<string, unknown>();
const echo = plainHandler('test.echo', ({ id, payload }) => void received.set(id, payload));
const node = new OneNode({ providers: [echo] });

/** What JSON libraries and databases get wrong: the ends of the doubles, odd texts, depth. */
const SMALL = [0, -0, 1e-6, 1e-7, -1e-7, 1.5e-7, 1.25e-300, 123.456, -0.1, 0.1 + 0.2];
const ENDS = [Number.MIN_VALUE, -Number.MIN_VALUE, 2.2250738585072014e-308, Number.EPSILON];
const LARGE = [1e15 + 0.5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
const NUMBERS = [...SMALL, ...ENDS, ...LARGE];
const TEXTS = ['', '1', '01', '-1', 'constructor', 'toString', 'NaN', 'null', '\u2028', '\uFFFF'];

const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
);
const text = fc
  .oneof(
    fc.constantFrom(...TEXTS),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ',', "'", '\n', '\x7F', 'NULL') }),
  )
  .filter((value) => !value.includes('\0') && value !== '__proto__');
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(number, text, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(text, tie('value'), { maxKeys: 6, noNullPrototype: true }),
  ),
}));
/** A payload may have 64 levels. */
const deepJson = fc.tuple(json, fc.nat(59)).map(([inner, depth]) => {
  let value = inner;
  for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { '': value };
  return value;
});
const payloadsOf = (payload: fc.Arbitrary<Json>) =>
  fc.array(payload, { minLength: 1, maxLength: 10 });

/** `jsonb` has one zero. */
const withoutNegativeZero = (value: Json): unknown => JSON.parse(JSON.stringify(value)) as unknown;

const isRefused = (payload: Json, bytesMax: number): boolean => {
  try {
    encodePayload(payload, bytesMax);
    return false;
  } catch (error) {
    return /\bbytes\b/.test(String(error));
  }
};

it('a payload is what went in, where it replaces another and where a dead letter comes back, and its limit counts what is stored', async () => {
  await fc.assert(
    fc.asyncProperty(payloadsOf(fc.oneof(json, deepJson)), async (payloads) => {
      const items = payloads.map((payload, n) => {
        const key = `${n}`;
        return { name: 'test.h', payload, after: '1h', key } as const;
      });
      await node.delays.scheduleMany(items.map((item) => ({ ...item, payload: 'first' })));
      const replaced = await node.delays.scheduleMany(items);
      expect(new Set(replaced.map(({ verdict }) => verdict))).toEqual(new Set(['replaced']));
      const rows = await node.sql<{ key: string; bytes: number }>(
        `UPDATE delay_queue.delay SET wake_at = 'infinity'
         RETURNING key, octet_length(payload::text) AS bytes`,
      );
      const bytesOf = new Map(rows.map(({ key, bytes }) => [key, bytes]));
      for (const { key, payload } of items) {
        await node.delays.retryDead('test.h', key);
        const found = await node.delays.find('test.h', key);
        expect(found?.payload).toEqual(withoutNegativeZero(payload));
        const bytes = bytesOf.get(key)!;
        expect([isRefused(payload, bytes), isRefused(payload, bytes - 1)]).toEqual([false, true]);
      }
      await node.sql('TRUNCATE delay_queue.delay');
    }),
    { numRuns: 25, examples: [[NUMBERS]] },
  );
});

it('a handler gets what went in', async () => {
  await fc.assert(
    fc.asyncProperty(payloadsOf(json), async (payloads) => {
      let open = payloads.length;
      const all = node.next('completed', () => --open === 0);
      const items = payloads.map((payload) => ({ name: 'test.echo', payload, after: 0 }) as const);
      const results = await node.delays.scheduleMany(items);
      await all;
      expect(results.map(({ id }) => received.get(id))).toEqual(payloads.map(withoutNegativeZero));
    }),
    { numRuns: 10 },
  );
});

it('dueAt is the stored due time to the millisecond, whatever the duration', async () => {
  const afters = fc.oneof(
    // From 10^12 ms on, it looks like a point in time.
    fc.integer({ min: 0, max: 1e12 - 1 }),
    fc.double({ min: 0, max: 1e9, noNaN: true }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(afters, { minLength: 1, maxLength: 30 }), async (list) => {
      const items = list.map((after) => ({ name: 'test.h', payload: null, after }) as const);
      const results = await node.delays.scheduleMany(items);
      const rows = await node.sql<{ id: string; due: string }>(
        `SELECT id::text, (extract(epoch FROM due_at) * 1000)::text AS due FROM delay_queue.delay`,
      );
      const dueMs = new Map(rows.map(({ id, due }) => [id, Number(due)]));
      for (const { id, dueAt } of results) expect(dueMs.get(id)).toBe(dueAt.getTime());
      await node.sql('TRUNCATE delay_queue.delay');
    }),
    { numRuns: 15 },
  );
});

/** An insert does not answer the wake it has written: it is told from what it does answer. */
it('the wake that is told of what was inserted is the one that stands in the row', async () => {
  const wishes: MoveTo[] = [
    ...[0, 1, 3_600_000].map((ms) => ({ kind: 'after', ms }) as const),
    ...['1970-01-01T00:00:00.000Z', '2030-01-02T03:04:05.678Z', '9999-12-31T23:59:59.999Z'].map(
      (iso) => ({ kind: 'at', iso }) as const,
    ),
  ];
  const store = new DelayStore('delay_queue', 'ends', 'node-1');
  const none = { key: null, maxAttempts: null, group: null, headers: null };
  const item = { name: 'test.a', payload: 'null', ...none } as const;
  const placements = wishes.map((to) => ({ ...item, to, onConflict: 'replace' as const }));
  for (let round = 0; round < 5; round += 1) {
    const placed = await store.place(runnerOn(node.dataSource), placements);
    const rows = await node.sql<{ id: string; due: string; wake: string }>(
      `SELECT id::text, (extract(epoch FROM due_at) * 1000)::text AS due,
              (extract(epoch FROM wake_at) * 1000)::text AS wake
       FROM delay_queue.delay d ORDER BY d.id`,
    );
    expect(placed.map(({ id, dueMs, wakeMs }) => [id, dueMs, wakeMs])).toEqual(
      rows.map(({ id, due, wake }) => [Number(id), Number(due), Number(wake)]),
    );
    await node.sql('TRUNCATE delay_queue.delay');
  }
});
