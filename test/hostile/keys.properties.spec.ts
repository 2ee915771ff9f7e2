import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { OneNode } from '../support/one-node.js';

const node = new OneNode();

/** What the documents promise to take. */
const isKey = (key: string): boolean =>
  key.length >= 1 && key.length <= 255 && !key.includes('\0') && !/\p{Surrogate}/u.test(key);

/** A text and what a careless comparison takes for the same. */
const nearKeys = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).chain((key) => {
  const near = [
    key,
    ...['NFC', 'NFD', 'NFKC', 'NFKD'].map((form) => key.normalize(form)),
    ...['%', '_', ' ', '\u00A0', '\u200B', key].map((end) => key + end),
    ...[254, 255].map((length) => key.padEnd(length, 'x')),
    key.toLowerCase(),
    key.toUpperCase(),
    key.trim(),
    key.slice(1),
    key.slice(0, -1),
    ` ${key}`,
    `\uFEFF${key}`,
    JSON.stringify(key),
  ];
  return fc.shuffledSubarray([...new Set(near.filter(isKey))], { minLength: 1 });
});

const idsOf = async (): Promise<Set<string>> => {
  const rows = await node.sql<{ id: string }>('SELECT id::text AS id FROM delay_queue.delay');
  return new Set(rows.map(({ id }) => id));
};

/** Schedules all of them, each with its place as its payload; @returns their ids, which are as many. */
async function scheduleAll(slots: [name: string, key: string][]): Promise<string[]> {
  const results = await node.delays.scheduleMany(
    slots.map(([name, key], n) => ({ name: name as 'test.h', payload: n, after: '1h', key })),
  );
  expect(results.map(({ verdict }) => verdict)).toEqual(slots.map(() => 'scheduled'));
  const ids = results.map(({ id }) => id);
  expect(new Set(ids).size).toBe(slots.length);
  for (const [n, [name, key]] of slots.entries()) {
    const found = await node.delays.find(name as 'test.h', key);
    expect(found).toMatchObject({ name, key, payload: n });
  }
  return ids;
}

const empty = () => node.truncate('delay', 'history');

it('any key finds, moves and cancels its own delay and no other, however near the others are', async () => {
  await fc.assert(
    fc.asyncProperty(nearKeys, async (keys) => {
      const ids = await scheduleAll(keys.map((key) => ['test.h', key]));
      for (const [n, key] of keys.entries()) {
        const moved = await node.delays.reschedule('test.h', key, { extendBy: 1_000 });
        expect(moved).toMatchObject({ verdict: 'rescheduled', id: ids[n] });
      }
      for (const [n, key] of keys.entries()) {
        const cancelled = await node.delays.cancel('test.h', key);
        expect(cancelled).toMatchObject({ verdict: 'cancelled', id: ids[n] });
        expect(await idsOf()).toEqual(new Set(ids.slice(n + 1)));
        expect(await node.delays.history('test.h', key)).toMatchObject([{ id: ids[n], key }]);
      }
      await empty();
    }),
    { numRuns: 15 },
  );
});

// oxlint-disable-next-line jest/expect-expect -- `scheduleAll` expects
it('a name and a key never run into each other: each pair is a delay of its own', async () => {
  const letter = fc.constantFrom(...'ab.:/-_'.split(''));
  const name = fc.string({ unit: letter, maxLength: 5 }).map((rest) => `test.${rest}`);
  const key = fc.string({ unit: letter, minLength: 1, maxLength: 4 });
  const pairs = fc.uniqueArray(fc.tuple(name, key), {
    minLength: 1,
    maxLength: 40,
    selector: (pair) => JSON.stringify(pair),
  });
  await fc.assert(
    fc.asyncProperty(pairs, async (slots) => {
      await scheduleAll(slots);
      await empty();
    }),
    { numRuns: 10 },
  );
});
