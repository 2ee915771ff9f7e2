import { describe, expect, it } from '@jest/globals';
import type { ScheduleItem, ScheduleResult } from 'nestjs-delay-queue';
import { OneNode } from '../support/one-node.js';

/** A delay that is replaced again and again is due so long after it was first scheduled, at the latest. */
const NAME = 'test.debounced';
const KEY = 'k';
const MINUTE_MS = 60_000;

const node = new OneNode({ options: { worker: false } });

const options = { key: KEY, after: '10m', maxWait: '1h' } as const;

const WAYS: Record<string, (payload: number) => Promise<ScheduleResult>> = {
  'a call of its own': (payload) => node.delays.schedule(NAME, payload, options),
  "a caller's transaction": (payload) =>
    node.dataSource.transaction((manager) =>
      node.delays.schedule(NAME, payload, { ...options, manager }),
    ),
  scheduleMany: async (payload) => {
    const other = { name: NAME, payload, key: 'other', after: '9m' } as const;
    const items: ScheduleItem[] = [{ name: NAME, payload, ...options }, other];
    return (await node.delays.scheduleMany(items))[0] as ScheduleResult;
  },
};

/** It was scheduled first so much earlier. */
const age = (minutes: number): Promise<unknown> =>
  node.sql(`UPDATE delay_queue.delay SET created_at = created_at - $1 * interval '1 minute'`, [
    minutes,
  ]);

/** From its first instant to its due time, in whole minutes. */
async function waits(): Promise<number> {
  const delay = await node.delays.find(NAME, KEY);
  return Math.round((Number(delay?.dueAt) - Number(delay?.createdAt)) / MINUTE_MS);
}

describe.each(Object.entries(WAYS))('maxWait, in %s', (_, schedule) => {
  it('moves with each replace, and not beyond its end', async () => {
    expect(await schedule(1)).toMatchObject({ verdict: 'scheduled' });
    await age(20);
    expect(await schedule(2)).toMatchObject({ verdict: 'replaced' });
    expect(await waits()).toBe(30);
    await age(35);
    const { dueAt } = await schedule(3);
    expect(await waits()).toBe(60);
    const delay = await node.delays.find(NAME, KEY);
    expect(delay).toMatchObject({ payload: 3, dueAt, state: 'scheduled' });
    expect(Number(dueAt)).toBeLessThanOrEqual(Number(delay!.createdAt) + 60 * MINUTE_MS + 1);
  });

  it('is due at once when its end has passed', async () => {
    await schedule(1);
    await age(120);
    await schedule(2);
    expect(await waits()).toBe(60);
    const [row] = await node.sql<{ due: boolean }>(
      `SELECT wake_at BETWEEN due_at AND clock_timestamp() AS due FROM delay_queue.delay
       WHERE key = $1`,
      [KEY],
    );
    expect(row).toEqual({ due: true });
  });

  it('begins anew for a dead letter, and after a replace without it', async () => {
    await schedule(1);
    await age(55);
    await node.delays.schedule(NAME, 2, { key: KEY, after: '10m' });
    await schedule(3);
    expect(await waits()).toBe(10);
    await age(55);
    await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity' WHERE key = $1`, [KEY]);
    expect(await schedule(4)).toMatchObject({ verdict: 'scheduled' });
    expect(await waits()).toBe(10);
  });
});

it.each<[what: string, given: object]>([
  ['without a key', { after: '1m', maxWait: '1h' }],
  ['beside keep', { ...options, onConflict: 'keep' }],
  ['beside later', { ...options, onConflict: 'later' }],
  ['beside at', { key: KEY, at: new Date(), maxWait: '1h' }],
  ['shorter than after', { ...options, maxWait: '9m' }],
  ['that is no duration', { ...options, maxWait: 'soon' }],
  ['of null', { ...options, maxWait: null }],
])('maxWait %s is refused', async (_, given) => {
  await expect(node.delays.schedule(NAME, 1, given as typeof options)).rejects.toMatchObject({
    code: 'DELAY_INVALID',
    field: 'maxWait',
  });
  expect(await node.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
});
