import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Batcher, type Written } from '../../../src/delay-queue/settlement/batcher.js';
import type { LookedRow } from '../../../src/delay-queue/store/wire/attempt-rows.js';
import { signal } from '../../support/delay-node.js';

type Item = { id: number; epoch: number };

/** What is left in the table. */
const row = (id: number, leasedBy: string | null): LookedRow =>
  ({ id, epoch: 1, leased_by: leasedBy }) as LookedRow;

let batches: number[][];
let troubles: number;
/** What the next statements do; when none is left, all is written. */
let script: ((ids: number[]) => Promise<number[]> | number[])[];
let rows: LookedRow[];
/** Looks that fail before one is answered. */
let blind: number;
let batcher: Batcher<Item>;

beforeEach(() => {
  batches = [];
  troubles = 0;
  script = [];
  rows = [];
  blind = 0;
  batcher = batcherThat({ removes: false });
});

const batcherThat = (how: { removes: boolean }): Batcher<Item> =>
  new Batcher<Item>({
    ...how,
    write: async (items) => {
      const ids = items.map(({ id }) => id);
      batches.push(ids);
      return (await script.shift()?.(ids)) ?? ids;
    },
    lookAt: async (ids) => {
      if ((blind -= 1) >= 0) refuse();
      return rows.filter(({ id }) => ids.includes(id));
    },
    onProgress: () => {},
    node: 'node',
    trouble: { failed: () => (troubles += 1), worked: () => {} },
  });

afterEach(() => batcher.close());

const settled = (id: number): Promise<Written> =>
  new Promise((resolve) => batcher.add({ id, epoch: 1 }, resolve));

const refuse = (): never => {
  throw new Error('refused');
};

describe('what has ended', () => {
  it('in one turn is written together, and what ends meanwhile in the next statement', async () => {
    const first = signal();
    script = [async (ids) => first.promise.then(() => ids)];
    const early = [settled(1), settled(2)];
    await new Promise(setImmediate);
    const late = settled(3);
    await new Promise(setImmediate);
    expect(batches).toEqual([[1, 2]]);
    first.resolve();
    expect(await Promise.all([...early, late])).toEqual(['written', 'written', 'written']);
    expect(batches).toEqual([[1, 2], [3]]);
    expect(batcher.size).toBe(0);
  });

  it('and is locked is tried again, and holds up no other', async () => {
    const order: number[] = [];
    script = [() => [2], () => []];
    rows = [row(1, 'node')];
    await Promise.all([1, 2].map((id) => settled(id).then(() => order.push(id))));
    expect(order).toEqual([2, 1]);
    expect(batches).toEqual([[1, 2], [1], [1]]);
  });

  it('and is gone after a failure was written by what failed', async () => {
    script = [refuse, () => []];
    expect(await settled(1)).toBe('written');
    expect(troubles).toBe(1);
  });

  it('and is refused for ever does not hold up the others', async () => {
    script = Array.from({ length: 1_000 }, () => (ids) => (ids.includes(7) ? refuse() : ids));
    const refused = settled(7);
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 8].map(settled));
    expect(batcher.size).toBe(1);
    script = [];
    expect(await refused).toBe('written');
  });

  it('is told once, also when nobody can look at the others of its statement', async () => {
    const told: string[] = [];
    script = [() => [1], () => []];
    blind = 1;
    const add = (id: number): Promise<void> =>
      new Promise((resolve) =>
        batcher.add({ id, epoch: 1 }, (result) => {
          told.push(`${id} ${result}`);
          resolve();
        }),
      );
    await Promise.all([add(1), add(2)]);
    expect(told).toEqual(['1 written', '2 gone']);
    expect([batches, batcher.size]).toEqual([[[1, 2], [2]], 0]);
  });

  it.each([
    ['removes rows', true, { epoch: 2, leased_by: null }, 'gone'],
    ['moves rows on', false, { epoch: 2, leased_by: null }, 'written'],
    ['moves rows on', false, { epoch: 2, leased_by: 'another' }, 'gone'],
    ['moves rows on', false, { epoch: 3, leased_by: 'another' }, 'written'],
  ])(
    'after a failure of what %s, the row says whether it was written: %p %j',
    async (_, removes, there, result) => {
      batcher = batcherThat({ removes });
      script = [refuse, () => []];
      rows = [{ ...row(1, null), ...there }];
      expect(await settled(1)).toBe(result);
    },
  );

  // A caller's write gave the row the epoch that a claim would have had, had it happened.
  it.each([null, 'another'])('is gone when %p has its row, under its epoch', async (leasedBy) => {
    rows = [row(1, leasedBy)];
    script = [() => []];
    expect(await settled(1)).toBe('gone');
  });
});
