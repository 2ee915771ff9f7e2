import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayInfo, RepeatOptions, ScheduleResult } from 'nestjs-delay-queue';
import { plainHandler } from '../../support/delay-node.js';
import type { Json } from '../../support/delay-payloads.js';
import { OneNode } from '../../support/one-node.js';
import { until } from '../../support/until.js';

/** Delays that recur because a call says so. */
const NAME = 'test.report';
const KEY = 'customer-7';
const HOUR = 3_600_000;
const HOURLY = { every: '1h' } as const;
const TOKYO = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' } as const;
/** Three in the morning there. */
const AT_THREE = /T18:00:00.000Z$/;

interface More {
  after?: string;
  at?: Date;
  onConflict?: 'keep' | 'error';
  group?: string;
}

let seen: Date[];

const node = new OneNode({ providers: [plainHandler(NAME, ({ dueAt }) => void seen.push(dueAt))] });

beforeEach(() => {
  seen = [];
});

type Schedule = (payload: Json, repeat: RepeatOptions, more?: More) => Promise<ScheduleResult>;

const WAYS: [string, Schedule][] = [
  [
    'a call of its own',
    (payload, repeat, more = {}) =>
      node.delays.schedule(NAME, payload, { key: KEY, repeat, ...more } as never),
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

const find = (): Promise<DelayInfo | null> => node.delays.find(NAME, KEY);

const nowMs = async (): Promise<number> => {
  const [row] = await node.sql<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  return row!.ms;
};

/** Is made due before its time by hand. @returns when it is due then */
async function runs(): Promise<Date> {
  const before = seen.length;
  await node.admin.runNow([{ name: NAME, key: KEY }]);
  // It has run before the look: else it could still be the run that is seen to wait.
  const looked = await until(
    async () => ({ hasRun: seen.length > before, delay: await find() }),
    ({ hasRun, delay }) => hasRun && delay?.state === 'scheduled',
  );
  return looked.delay!.dueAt;
}

describe.each(WAYS)('by %s', (_way, schedule) => {
  it('every: it is due after its period, and goes on from there without drift', async () => {
    const from = await nowMs();
    const { verdict, dueAt } = await schedule({ n: 1 }, { ...HOURLY, catchUp: 'each' });
    expect(verdict).toBe('scheduled');
    expect(dueAt.getTime()).toBeGreaterThanOrEqual(from + HOUR);
    expect(dueAt.getTime()).toBeLessThanOrEqual(Math.ceil(await nowMs()) + HOUR);
    const repeat = { every: HOUR, catchUp: 'each' };
    expect(await find()).toMatchObject({ payload: { n: 1 }, dueAt, repeat });
    expect(await runs()).toEqual(dueAt);
    expect(await node.delays.history(NAME, KEY)).toMatchObject([{ state: 'completed' }]);
  });

  it('cron: it is due at the next instant of that wall clock', async () => {
    const now = await nowMs();
    const { dueAt } = await schedule(null, TOKYO);
    expect(dueAt.toISOString()).toMatch(AT_THREE);
    expect(dueAt.getTime() - now).toBeGreaterThan(-1_000);
    expect(dueAt.getTime() - now).toBeLessThanOrEqual(24 * HOUR);
    expect(await find()).toMatchObject({ repeat: { ...TOKYO, catchUp: 'latest' } });
  });

  it('its first run may be at another time: every counts from there', async () => {
    const { dueAt } = await schedule(1, HOURLY, { after: '2h' });
    expect(dueAt.getTime()).toBeGreaterThan((await nowMs()) + 1.9 * HOUR);
    expect(await runs()).toEqual(dueAt);
    const at = new Date(Date.UTC(2040, 0, 1, 12, 34));
    expect(await schedule(1, HOURLY, { at })).toMatchObject({ dueAt: at });
    expect(await runs()).toEqual(at);
    expect(await schedule(1, TOKYO, { at })).toMatchObject({ verdict: 'replaced', dueAt: at });
    expect((await runs()).toISOString()).toMatch(AT_THREE);
  });

  it('a first time that is past is due now, and catchUp decides what follows', async () => {
    const at = new Date(Math.floor(await nowMs()) - 2.5 * HOUR);
    await schedule(1, { ...HOURLY, catchUp: 'each' }, { at });
    const hours = (dueAt?: Date) => (Number(dueAt) - Number(at)) / HOUR;
    await until(
      () => find(),
      (delay) => delay?.state === 'scheduled' && hours(delay.dueAt) === 3,
    );
    expect(seen.map(hours)).toEqual([0, 1, 2]);
  });

  it('replace changes rhythm, payload and group; keep leaves what is there, and error refuses', async () => {
    const { id, dueAt } = await schedule('old', HOURLY);
    expect(await schedule('new', TOKYO, { onConflict: 'keep' })).toEqual({
      verdict: 'kept',
      id,
      dueAt,
    });
    await expect(schedule('new', TOKYO, { onConflict: 'error' })).rejects.toMatchObject({
      code: 'DELAY_CONFLICT',
    });
    expect(await find()).toMatchObject({ payload: 'old', repeat: { every: HOUR } });
    const replaced = await schedule('new', TOKYO, { group: 'g' });
    expect(replaced).toMatchObject({ verdict: 'replaced', id });
    expect(replaced.dueAt.toISOString()).toMatch(AT_THREE);
    expect(await find()).toMatchObject({
      payload: 'new',
      group: 'g',
      dueAt: replaced.dueAt,
      repeat: { ...TOKYO, catchUp: 'latest' },
    });
  });

  it.each([
    ['every', HOURLY],
    ['cron', TOKYO],
  ] as const)('the same call again moves nothing, %s', async (__, repeat) => {
    const { dueAt } = await schedule('old', repeat);
    await node.delays.reschedule(NAME, KEY, { after: '10m' });
    const moved = (await find())!.dueAt;
    expect(moved).not.toEqual(dueAt);
    expect(await schedule('new', repeat)).toMatchObject({ verdict: 'replaced', dueAt: moved });
    expect(await find()).toMatchObject({ payload: 'new', dueAt: moved });
    expect(await runs()).toEqual(dueAt);
    // Who says when it runs, is heard.
    const at = new Date(Date.UTC(2040, 0, 1));
    expect(await schedule('new', repeat, { at })).toMatchObject({ dueAt: at });
  });

  it('what waits once begins to recur, and a dead letter is revived to recur', async () => {
    await node.delays.schedule(NAME, 'once', { after: '9d', key: KEY });
    expect(await schedule('old', HOURLY)).toMatchObject({ verdict: 'replaced' });
    expect(await find()).toMatchObject({ repeat: { every: HOUR } });
    await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity'`);
    const now = await nowMs();
    const revived = await schedule('new', HOURLY);
    expect(revived.verdict).toBe('scheduled');
    expect(revived.dueAt.getTime()).toBeGreaterThanOrEqual(now + HOUR);
    expect(await runs()).toEqual(revived.dueAt);
  });

  it('what the code declares is refused, and stays as it is', async () => {
    await node.sql(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, repeat)
       VALUES ($1, $2, '1', now() + interval '1 h', now() + interval '1 h', now(),
               '{"every": 3600000, "catchUp": "latest", "declared": true}')`,
      [NAME, KEY],
    );
    const rows = () => node.sql('SELECT * FROM delay_queue.delay');
    for (const wake of ['wake_at', `'infinity'`]) {
      await node.sql(`UPDATE delay_queue.delay SET wake_at = ${wake}`);
      const before = await rows();
      await expect(schedule('new', { every: '2h' })).rejects.toMatchObject({
        code: 'DELAY_INVALID',
        field: 'key',
      });
      expect(await rows()).toEqual(before);
    }
    expect(await node.sql('SELECT id FROM delay_queue.history')).toEqual([]);
  });
});
