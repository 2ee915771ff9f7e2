import { describe, expect, it } from '@jest/globals';
import type { OnConflict, ScheduleResult } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { OneNode } from '../support/one-node.js';

/** A key that is taken: the one that is due earlier, or later, stays. */
const NAME = 'test.kept';
const at = (hours: number): Date => new Date(Date.UTC(2040, 0, 1, hours));

const node = new OneNode({ options: { worker: false } });

type Schedule = (key: string, hours: number, onConflict: OnConflict) => Promise<ScheduleResult>;

const one =
  (manager?: EntityManager): Schedule =>
  (key, hours, onConflict) =>
    node.delays.schedule(NAME, hours, { at: at(hours), key, onConflict, manager });

const WAYS: Record<string, Schedule> = {
  'a call of its own': one(),
  "a caller's transaction": (...given) =>
    node.dataSource.transaction((manager) => one(manager)(...given)),
  scheduleMany: async (key, hours, onConflict) => {
    const item = { name: NAME, payload: hours, at: at(hours), key, onConflict } as const;
    const [, result] = await node.delays.scheduleMany([{ ...item, key: `beside ${key}` }, item]);
    return result as ScheduleResult;
  },
};

describe.each(Object.entries(WAYS))('in %s', (_way, schedule) => {
  it.each([
    ['earlier', 4, 'replaced', 4],
    ['earlier', 5, 'kept', 5],
    ['earlier', 6, 'kept', 5],
    ['later', 4, 'kept', 5],
    ['later', 5, 'kept', 5],
    ['later', 6, 'replaced', 6],
  ] as const)('%s, due %i hours on beside 5: %s', async (onConflict, hours, verdict, stays) => {
    const { id } = await schedule('k', 5, onConflict);
    expect(await schedule('k', hours, onConflict)).toEqual({ verdict, id, dueAt: at(stays) });
    const payload = verdict === 'kept' ? 5 : hours;
    expect(await node.delays.find(NAME, 'k')).toMatchObject({ payload, dueAt: at(stays) });
  });

  it('a dead letter is revived, whenever it was due', async () => {
    await schedule('k', 5, 'later');
    await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity', attempts = 1`);
    expect(await schedule('k', 1, 'later')).toMatchObject({ verdict: 'scheduled', dueAt: at(1) });
  });
});

it.each([
  ['earlier', Math.min],
  ['later', Math.max],
] as const)('of many callers at once the one that is due %s stays', async (onConflict, wins) => {
  const hours = Array.from({ length: 30 }, () => Math.ceil(Math.random() * 1_000));
  const ways = Object.values(WAYS);
  await Promise.all(hours.map((hour, index) => ways[index % ways.length]!('k', hour, onConflict)));
  expect(await node.delays.find(NAME, 'k')).toMatchObject({ payload: wins(...hours) });
});
