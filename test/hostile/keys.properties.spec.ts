import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';

let database: TestDatabase;
let node: DelayNode;

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({ url: database.url });
});

afterEach(() => node.dataSource.query('TRUNCATE delay_queue.delay'));

afterAll(async () => {
  await node.stop();
  await database.drop();
});

/** What the documents promise to take. */
const isKey = (key: string): boolean =>
  key.length >= 1 && key.length <= 255 && !key.includes('\0') && !/\p{Surrogate}/u.test(key);

/** A text and what a careless comparison takes for the same. */
const nearKeys = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).chain((key) => {
  const near = [
    key,
    key.normalize('NFC'),
    key.normalize('NFD'),
    key.normalize('NFKC'),
    key.normalize('NFKD'),
    key.toLowerCase(),
    key.toUpperCase(),
    key.trim(),
    ` ${key}`,
    `${key} `,
    `${key}\u00A0`,
    `${key}\u200B`,
    `\uFEFF${key}`,
    `${key}${key}`,
    key.slice(1),
    key.slice(0, -1),
    `${key}%`,
    `${key}_`,
    JSON.stringify(key),
    key.padEnd(255, 'x'),
    key.padEnd(254, 'x'),
  ];
  return fc.shuffledSubarray([...new Set(near.filter(isKey))], { minLength: 1 });
});

it('any key finds, moves and cancels its own delay and no other, however near the others are', async () => {
  await fc.assert(
    fc.asyncProperty(nearKeys, async (keys) => {
      const items = keys.map((key) => ({
        name: 'test.h' as const,
        payload: key,
        after: '1h' as const,
        key,
      }));
      const scheduled = await node.delays.scheduleMany(items);
      expect(scheduled.map(({ verdict }) => verdict)).toEqual(keys.map(() => 'scheduled'));
      expect(new Set(scheduled.map(({ id }) => id)).size).toBe(keys.length);
      const ids = new Map(keys.map((key, n) => [key, scheduled[n]?.id]));
      for (const key of keys) {
        expect(await node.delays.find('test.h', key)).toMatchObject({ key, payload: key });
        const moved = await node.delays.reschedule('test.h', key, { extendBy: 1_000 });
        expect(moved).toMatchObject({ verdict: 'rescheduled', id: ids.get(key) });
      }
      const left = new Set(keys);
      for (const key of keys) {
        const cancelled = await node.delays.cancel('test.h', key);
        expect(cancelled).toMatchObject({ verdict: 'cancelled', id: ids.get(key) });
        left.delete(key);
        const rows: { key: string }[] = await node.dataSource.query(
          'SELECT key FROM delay_queue.delay',
        );
        expect(new Set(rows.map((row) => row.key))).toEqual(left);
        expect(await node.delays.history('test.h', key)).toMatchObject([{ id: ids.get(key), key }]);
      }
      await node.dataSource.query('TRUNCATE delay_queue.history');
    }),
    { numRuns: 60 },
  );
});

it('a name and a key never run into each other: each pair is a delay of its own', async () => {
  const letter = fc.constantFrom(...'ab.:/-_'.split(''));
  const name = fc.string({ unit: letter, maxLength: 5 }).map((rest) => `test.${rest}` as const);
  const key = fc.string({ unit: letter, minLength: 1, maxLength: 4 });
  const pairs = fc.uniqueArray(fc.tuple(name, key), {
    minLength: 1,
    maxLength: 40,
    selector: (pair) => JSON.stringify(pair),
  });
  await fc.assert(
    fc.asyncProperty(pairs, async (slots) => {
      const items = slots.map(([ofName, ofKey], n) => ({
        name: ofName as 'test.h',
        payload: n,
        after: '1h' as const,
        key: ofKey,
      }));
      const results = await node.delays.scheduleMany(items);
      expect(new Set(results.map(({ id }) => id)).size).toBe(slots.length);
      for (const [n, [ofName, ofKey]] of slots.entries()) {
        const found = await node.delays.find(ofName as 'test.h', ofKey);
        expect(found).toMatchObject({ name: ofName, key: ofKey, payload: n });
      }
      await node.dataSource.query('TRUNCATE delay_queue.delay');
    }),
    { numRuns: 25 },
  );
});
