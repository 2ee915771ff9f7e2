import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Batcher } from '../../../src/delay-queue/settlement/batcher.js';
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
let batcher: Batcher<Item>;

beforeEach(() => {
  batches = [];
  troubles = 0;
  script = [];
  rows = [];
  batcher = new Batcher<Item>({
    write: async (items) => {
      const ids = items.map(({ id }) => id);
      batches.push(ids);
      return (await script.shift()?.(ids)) ?? ids;
    },
    lookAt: async (ids) => rows.filter(({ id }) => ids.includes(id)),
    onProgress: () => {},
    node: 'node',
    trouble: { failed: () => (troubles += 1), worked: () => {} },
  });
});

afterEach(() => batcher.close());

const settled = (id: number): Promise<'written' | 'gone'> =>
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

  // A caller's write gave the row the epoch that a claim would have had, had it happened.
  it.each([null, 'another'])('is gone when %p has its row, under its epoch', async (leasedBy) => {
    rows = [row(1, leasedBy)];
    script = [() => []];
    expect(await settled(1)).toBe('gone');
  });
});
