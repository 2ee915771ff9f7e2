import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Batcher, BatchResult } from '../../../src/delay-queue/core/worker/batcher.js';
import type { LookedRow } from '../../../src/delay-queue/core/store/sql/attempts.sql.js';
import { signal } from '../../support/delay-node.js';
import { toldPauses } from '../../support/told-pauses.js';

const pauses = toldPauses();
const { Batcher: BatcherHere } = await import('../../../src/delay-queue/core/worker/batcher.js');

type Item = { id: number; epoch: number };

const FAILURES_MAX = 5_000;

/** What is left in the table. */
const row = (id: number, leasedBy: string | null): LookedRow =>
  ({ id, epoch: 1, node: leasedBy }) as LookedRow;

let batches: number[][];
/** How much less of each was written. */
let reductions: number[];
let troubles: number;
let recoveries: number;
let progress: number;
/** What the next statements do; when none is left, all is written. */
let script: ((ids: number[]) => Promise<number[]> | number[])[];
let rows: LookedRow[];
/** Looks that fail before one is answered. */
let blind: number;
let batcher: Batcher<Item>;

beforeEach(() => {
  [batches, reductions] = [[], []];
  troubles = recoveries = progress = 0;
  pauses.retries.length = pauses.locked.length = 0;
  script = [];
  rows = [];
  blind = 0;
  batcher = batcherThat({ removes: false });
});

const batcherThat = (how: { removes: boolean; reductions?: number }): Batcher<Item> =>
  new BatcherHere<Item>({
    ...how,
    write: async (items, reduced) => {
      const ids = items.map(({ id }) => id);
      batches.push(ids);
      reductions.push(reduced);
      return (await script.shift()?.(ids)) ?? ids;
    },
    lookAt: async (ids) => {
      if ((blind -= 1) >= 0) refused();
      return rows.filter(({ id }) => ids.includes(id));
    },
    onProgress: () => (progress += 1),
    node: 'node',
    health: {
      failed: () => {
        // A batcher that fails for ever would leave no turn of the event loop to the test.
        if ((troubles += 1) > FAILURES_MAX) batcher.close();
      },
      worked: () => (recoveries += 1),
      // As long as the engine would, which another task may end.
      pause: async () => {},
    },
  });

afterEach(() => batcher.close());

const settled = (id: number): Promise<BatchResult> =>
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
    expect(batcher.open.size).toBe(0);
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
    expect(batcher.open.size).toBe(1);
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
    expect([batches, batcher.open.size]).toEqual([[[1, 2], [2]], 0]);
  });

  it.each([
    ['removes rows', true, { epoch: 2, node: null }, 'gone'],
    ['moves rows on', false, { epoch: 2, node: null }, 'written'],
    ['moves rows on', false, { epoch: 2, node: 'another' }, 'gone'],
    ['moves rows on', false, { epoch: 3, node: 'another' }, 'written'],
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

/** What a statement says that is tried again as it is, and what it says of a row that will never be taken. */
const down = (): never => {
  throw new Error('down');
};
const refused = (): never => {
  throw Object.assign(new Error('no'), { code: '23514' });
};

describe('after failures', () => {
  it('pauses grow with each in a row, and begin anew after one that works', async () => {
    script = [down, down, down];
    expect(await settled(1)).toBe('written');
    await new Promise(setImmediate);
    expect([pauses.retries, troubles, recoveries, progress]).toEqual([[1, 2, 3], 3, 1, 1]);
    script = [down];
    expect(await settled(2)).toBe('written');
    await new Promise(setImmediate);
    expect([pauses.retries, troubles, recoveries]).toEqual([[1, 2, 3, 1], 4, 2]);
  });

  it('what is found locked is looked at after pauses that grow, each for itself', async () => {
    script = [() => [], () => [], () => [], (ids) => ids, () => []];
    rows = [row(1, 'node'), row(2, 'node')];
    expect(await settled(1)).toBe('written');
    expect(await settled(2)).toBe('written');
    expect(pauses.locked).toEqual([1, 2, 3, 1]);
    expect(pauses.retries).toEqual([]);
  });

  it('one that is refused alone is told so at once, with no pause, and written with less before', async () => {
    batcher = batcherThat({ removes: false, reductions: 1 });
    script = [refused, refused];
    expect(await settled(1)).toBe('refused');
    expect([batches, pauses.retries, batcher.open.size]).toEqual([[[1], [1]], [], 0]);
    // Told of twice: what Postgres says, and that there is no less to write.
    expect(troubles).toBe(3);
    script = [refused];
    expect(await settled(2)).toBe('written');
  });
});

describe('one that is refused for good', () => {
  it('is found among others, which are written as they are, and no pause is made for it', async () => {
    batcher = batcherThat({ removes: false, reductions: 1 });
    const isRefused = (ids: number[]): boolean => ids.includes(3) && reductions.at(-1) === 0;
    script = Array.from({ length: 20 }, () => (ids) => (isRefused(ids) ? refused() : ids));
    const all = [1, 2, 3, 4, 5].map(settled);
    expect(await Promise.all(all)).toEqual(Array(5).fill('written'));
    expect(reductions.filter((reduced) => reduced > 0)).toHaveLength(1);
    expect(batches[reductions.indexOf(1)]).toEqual([3]);
    expect(pauses.retries).toEqual([]);
  });

  it('is not the one whose row could not be looked at: all of it is written', async () => {
    batcher = batcherThat({ removes: false, reductions: 1 });
    script = [() => [1]];
    blind = 1;
    await Promise.all([1, 2].map(settled));
    expect([batches, reductions]).toEqual([
      [[1, 2], [2]],
      [0, 0],
    ]);
  });
});

describe('a statement', () => {
  it.each([
    [499, [499]],
    [500, [500]],
    [501, [500, 1]],
    [1_000, [500, 500]],
  ])('of %d that end together writes %j', async (count, sizes) => {
    await Promise.all(Array.from({ length: count }, (_, id) => settled(id)));
    expect(batches.map(({ length }) => length)).toEqual(sizes);
    expect(progress).toBe(sizes.length);
  });

  it('holds a row once: its next end waits for the answer', async () => {
    const first = settled(1);
    const second = settled(1);
    const other = settled(2);
    expect(await Promise.all([first, second, other])).toEqual(Array(3).fill('written'));
    expect(batches).toEqual([[1, 2], [1]]);
  });
});

describe('who waits until all is written', () => {
  it('hears of it when the last one is, and of nothing there at once', async () => {
    await batcher.open.whenEmpty(60_000);
    const gate = signal();
    script = [(ids) => gate.promise.then(() => ids)];
    let isEmpty = false;
    const all = [settled(1), settled(2)];
    const waits = batcher.open.whenEmpty(60_000).then(() => (isEmpty = true));
    await new Promise(setImmediate);
    expect([isEmpty, batcher.open.size]).toEqual([false, 2]);
    gate.resolve();
    await waits;
    await Promise.all(all);
    expect(batcher.open.size).toBe(0);
  });

  it('once it is closed nothing more is written', async () => {
    batcher.close();
    batcher.add({ id: 1, epoch: 1 }, () => {});
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    expect([batches, batcher.open.size]).toEqual([[], 1]);
  });
});
