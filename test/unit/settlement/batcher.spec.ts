import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Batcher } from '../../../src/delay-queue/settlement/batcher.js';
import type { LookedRow } from '../../../src/delay-queue/store/wire/attempt-rows.js';
import { signal } from '../../support/delay-node.js';

interface Item {
  id: number;
  epoch: number;
}

const item = (id: number): Item => ({ id, epoch: 1 });
const row = (id: number, epoch: number): LookedRow => ({
  id,
  epoch,
  name: 'n',
  group: null,
  attempts: 1,
  max_attempts: null,
  leased_by: 'node',
  failed: false,
  repeat: null,
  due_ms: 0,
  wake_ms: 0,
  now_ms: 0,
});

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
  new Promise((resolve) => batcher.add(item(id), resolve));

const refuse = (): never => {
  throw new Error('refused');
};

describe('Batcher', () => {
  it('writes what ends in one turn together, and what ends meanwhile in the next', async () => {
    const first = signal();
    script = [async (ids) => first.promise.then(() => ids)];
    const early = [settled(1), settled(2)];
    await new Promise(setImmediate);
    const late = [settled(3), settled(4)];
    first.resolve();
    expect(await Promise.all([...early, ...late])).toEqual(Array(4).fill('written'));
    expect(batches).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(batcher.size).toBe(0);
  });

  it('waits for no locked row: the others are settled, and it is tried again', async () => {
    const order: number[] = [];
    script = [() => [2], () => []];
    rows = [row(1, 1)];
    await Promise.all([1, 2].map((id) => settled(id).then(() => order.push(id))));
    expect(order).toEqual([2, 1]);
    expect(batches).toEqual([[1, 2], [1], [1]]);
  });

  it('tries again after a failure, and takes a row that is gone then for written', async () => {
    script = [refuse, () => []];
    expect(await settled(1)).toBe('written');
    expect(troubles).toBe(1);
  });

  it('a write that the database refuses for ever does not hold up the others', async () => {
    script = Array.from({ length: 1_000 }, () => (ids) => (ids.includes(7) ? refuse() : ids));
    const others = Array.from({ length: 16 }, (_, id) => id).filter((id) => id !== 7);
    const poison = settled(7);
    await Promise.all(others.map(settled));
    expect(batcher.size).toBe(1);
    script = [];
    expect(await poison).toBe('written');
  });

  it('takes a row that somebody else has under the same epoch for gone, not for locked', async () => {
    // A caller's write gave the row the epoch that a claim would have had, had it happened.
    rows = [{ ...row(1, 1), leased_by: null }];
    script = [() => []];
    expect(await settled(1)).toBe('gone');
    rows = [{ ...row(2, 1), leased_by: 'another' }];
    script = [() => []];
    expect(await settled(2)).toBe('gone');
  });
});
