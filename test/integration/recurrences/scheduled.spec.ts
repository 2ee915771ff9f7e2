import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayInfo, RepeatOptions, ScheduleResult } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { plainHandler } from '../../support/delay-node.js';
import type { Json } from '../../support/delay-payloads.js';
import { OneNode } from '../../support/one-node.js';
import { until } from '../../support/until.js';

/** Delays that recur because a call says so. */
const NAME = 'test.report';
const KEY = 'customer-7';
const HOUR = 3_600_000;
const TOKYO = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' } as const;

interface More {
  after?: number | string;
  at?: Date;
  onConflict?: 'replace' | 'keep' | 'error';
  key?: string;
  group?: string;
}

let seen: { payload: unknown; dueAt: Date }[];

const node = new OneNode({
  providers: [plainHandler(NAME, ({ payload, dueAt }) => void seen.push({ payload, dueAt }))],
});

beforeEach(() => {
  seen = [];
});

type Schedule = (payload: Json, repeat: RepeatOptions, more?: More) => Promise<ScheduleResult>;

const one =
  (manager?: EntityManager): Schedule =>
  (payload, repeat, more = {}) =>
    node.delays.schedule(NAME, payload, { key: KEY, repeat, manager, ...more } as never);

const WAYS: [string, Schedule][] = [
  ['a call of its own', one()],
  [
    "a caller's transaction",
    (...given) => node.dataSource.transaction((manager) => one(manager)(...given)),
  ],
  [
    'scheduleMany',
    async (payload, repeat, more = {}) => {
      const other = { name: NAME, payload: null, after: '9d' } as const;
      const item = { name: NAME, payload, key: KEY, repeat, ...more };
      const [, result] = await node.delays.scheduleMany([other, item as never]);
      return result!;
    },
  ],
];

const find = (key = KEY): Promise<DelayInfo | null> => node.delays.find(NAME, key);

const nowMs = async (): Promise<number> => {
  const [row] = await node.sql<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  return row!.ms;
};

/** Is made due, and has gone on. */
async function runs(): Promise<DelayInfo> {
  const before = seen.length;
  await node.admin.runNow([{ name: NAME, key: KEY }]);
  // It has run before the look: else it could still be the run that is seen to wait.
  const looked = await until(
    async () => ({ hasRun: seen.length > before, delay: await find() }),
    ({ hasRun, delay }) => hasRun && delay?.state === 'scheduled',
  );
  return looked.delay!;
}

describe.each(WAYS)('by %s', (_way, schedule) => {
  it('every: it is due after its period, and goes on from there without drift', async () => {
    const from = await nowMs();
    const { verdict, dueAt } = await schedule({ n: 1 }, { every: '1h', catchUp: 'each' });
    expect(verdict).toBe('scheduled');
    expect(dueAt.getTime()).toBeGreaterThanOrEqual(from + HOUR);
    expect(dueAt.getTime()).toBeLessThanOrEqual(Math.ceil(await nowMs()) + HOUR);
    expect(await find()).toMatchObject({
      payload: { n: 1 },
      dueAt,
      repeat: { every: HOUR, catchUp: 'each' },
    });
    // Before its time by hand: it goes on with its first regular instant.
    expect(await runs()).toMatchObject({ dueAt, payload: { n: 1 } });
    expect(await node.delays.history(NAME, KEY)).toMatchObject([{ state: 'completed' }]);
  });

  it('cron: it is due at the next instant of that wall clock', async () => {
    const now = await nowMs();
    const { dueAt } = await schedule(null, TOKYO);
    expect(dueAt.toISOString()).toMatch(/T18:00:00.000Z$/);
    expect(dueAt.getTime() - now).toBeGreaterThan(-1_000);
    expect(dueAt.getTime() - now).toBeLessThanOrEqual(24 * HOUR);
    expect(await find()).toMatchObject({ repeat: { ...TOKYO, catchUp: 'latest' } });
  });

  it('its first run may be at another time: every counts from there', async () => {
    await schedule(1, { every: '1h' }, { after: '2h' });
    const first = (await find())!.dueAt.getTime();
    expect(first).toBeGreaterThan((await nowMs()) + 1.9 * HOUR);
    expect((await runs()).dueAt.getTime()).toBe(first);
    const at = new Date(Date.UTC(2040, 0, 1, 12, 34));
    expect(await schedule(1, { every: '1h' }, { at })).toMatchObject({ dueAt: at });
    expect((await runs()).dueAt).toEqual(at);
    const cron = await schedule(1, TOKYO, { at });
    expect(cron).toMatchObject({ verdict: 'replaced', dueAt: at });
    expect((await runs()).dueAt.toISOString()).toMatch(/T18:00:00.000Z$/);
  });

  it('a first time that is past is due now, and catchUp decides what follows', async () => {
    const now = Math.floor(await nowMs());
    const at = new Date(now - 2.5 * HOUR);
    await schedule(1, { every: '1h', catchUp: 'each' }, { at });
    const after = await until(
      () => find(),
      (delay) => delay?.dueAt.getTime() === at.getTime() + 3 * HOUR,
    );
    expect(after).toMatchObject({ state: 'scheduled' });
    const hours = seen.map(({ dueAt }) => (dueAt.getTime() - at.getTime()) / HOUR);
    expect(hours).toEqual([0, 1, 2]);
  });

  it('replace changes rhythm and payload', async () => {
    const first = await schedule('old', { every: '1h' });
    const second = await schedule('new', TOKYO, { group: 'g' });
    expect(second).toMatchObject({ verdict: 'replaced', id: first.id });
    expect(second.dueAt.toISOString()).toMatch(/T18:00:00.000Z$/);
    expect(await find()).toMatchObject({
      payload: 'new',
      group: 'g',
      dueAt: second.dueAt,
      repeat: { ...TOKYO, catchUp: 'latest' },
    });
  });

  it.each([
    ['every', { every: '1h' }],
    ['cron', TOKYO],
  ] as const)('the same call again moves nothing, %s', async (__, repeat) => {
    const { dueAt } = await schedule('old', repeat);
    await node.delays.reschedule(NAME, KEY, { after: '10m' });
    const moved = (await find())!.dueAt;
    expect(moved).not.toEqual(dueAt);
    expect(await schedule('new', repeat)).toMatchObject({ verdict: 'replaced', dueAt: moved });
    expect(await find()).toMatchObject({ payload: 'new', dueAt: moved });
    expect((await runs()).dueAt).toEqual(dueAt);
    // Who says when it runs, is heard.
    const at = new Date(Date.UTC(2040, 0, 1));
    expect(await schedule('new', repeat, { at })).toMatchObject({ dueAt: at });
  });

  it('keep leaves what is there, and error refuses', async () => {
    const { id, dueAt } = await schedule('old', { every: '1h' });
    const kept = await schedule('new', TOKYO, { onConflict: 'keep' });
    expect(kept).toEqual({ verdict: 'kept', id, dueAt });
    await expect(schedule('new', TOKYO, { onConflict: 'error' })).rejects.toMatchObject({
      code: 'DELAY_CONFLICT',
    });
    expect(await find()).toMatchObject({ payload: 'old', repeat: { every: HOUR } });
  });

  it('what waits once begins to recur, and a dead letter is revived to recur', async () => {
    await node.delays.schedule(NAME, 'once', { after: '9d', key: KEY });
    expect(await schedule('old', { every: '1h' })).toMatchObject({ verdict: 'replaced' });
    expect(await find()).toMatchObject({ repeat: { every: HOUR } });
    await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity'`);
    const now = await nowMs();
    const revived = await schedule('new', { every: '1h' });
    expect(revived.verdict).toBe('scheduled');
    expect(revived.dueAt.getTime()).toBeGreaterThanOrEqual(now + HOUR);
    expect((await runs()).dueAt).toEqual(revived.dueAt);
  });

  it('what the code declares is refused, and stays as it is', async () => {
    await node.sql(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, repeat)
       VALUES ($1, $2, '1', now() + interval '1 h', now() + interval '1 h', now(),
               '{"every": 3600000, "catchUp": "latest", "declared": true}')`,
      [NAME, KEY],
    );
    const before = await find();
    for (const wake of ['wake_at', `'infinity'`]) {
      await node.sql(`UPDATE delay_queue.delay SET wake_at = ${wake}`);
      await expect(schedule('new', { every: '2h' })).rejects.toMatchObject({
        code: 'DELAY_INVALID',
        field: 'key',
      });
    }
    expect(await find()).toMatchObject({
      payload: 1,
      dueAt: before?.dueAt,
      repeat: before?.repeat,
    });
    expect(await node.sql('SELECT id FROM delay_queue.delay')).toHaveLength(1);
    expect(await node.sql('SELECT id FROM delay_queue.history')).toEqual([]);
  });
});
