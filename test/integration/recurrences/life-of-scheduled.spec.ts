import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayInfo, RepeatOptions, ScheduleResult } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { plainHandler } from '../../support/delay-node.js';
import type { Json } from '../../support/delay-payloads.js';
import { OneNode } from '../../support/one-node.js';
import { repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';

/** What becomes of delays that recur because a call says so. */
const NAME = 'test.report';
const KEY = 'customer-7';
const HOUR = 3_600_000;
const TOKYO = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' } as const;

let seen: unknown[];

const node = new OneNode({
  providers: [plainHandler(NAME, ({ payload }) => void seen.push(payload))],
});

beforeEach(() => {
  seen = [];
});

const one =
  (manager?: EntityManager) =>
  (payload: Json, repeat: RepeatOptions, { key = KEY } = {}): Promise<ScheduleResult> =>
    node.delays.schedule(NAME, payload, { key, repeat, manager });

const find = (key = KEY): Promise<DelayInfo | null> => node.delays.find(NAME, key);

describe('what recurs by a call', () => {
  const schedule = one();

  it('is not there when the transaction is rolled back', async () => {
    const { manager, rollback } = await node.begin();
    await one(manager)(1, TOKYO);
    await rollback();
    expect(await find()).toBeNull();
  });

  it('ends by cancel, is moved once by reschedule, and listed', async () => {
    const { dueAt } = await schedule(1, { every: '1h' });
    const list = await node.admin.list({ repeating: true });
    expect(list).toMatchObject([{ key: KEY, dueAt, repeat: { every: HOUR } }]);
    await node.delays.reschedule(NAME, KEY, { after: 0 });
    await until(
      () => find(),
      (delay) => delay?.dueAt.getTime() === dueAt.getTime(),
    );
    expect(seen).toHaveLength(1);
    expect(await node.delays.cancel(NAME, KEY)).toMatchObject({ verdict: 'cancelled' });
    expect(await find()).toBeNull();
  });

  it('goes on to recur when it is scheduled without repeat', async () => {
    const { dueAt } = await schedule(1, { every: '1h' });
    await node.delays.schedule(NAME, 2, { after: '9d', key: KEY });
    expect(await find()).toMatchObject({ payload: 2, repeat: { every: HOUR } });
    await node.delays.reschedule(NAME, KEY, { after: 0 });
    await until(
      () => find(),
      (delay) => delay?.dueAt.getTime() === dueAt.getTime(),
    );
  });

  it('takes back what find has answered', async () => {
    await schedule(1, { ...TOKYO, catchUp: 'each' });
    const { repeat } = (await find())!;
    await node.delays.cancel(NAME, KEY);
    await schedule(1, repeat!);
    expect((await find())?.repeat).toEqual(repeat);
  });

  it('keeps its place among the calls of its key', async () => {
    const answers = await Promise.all([
      schedule(1, TOKYO),
      node.delays.cancel(NAME, 'another'),
      schedule(2, { every: '1h' }, { key: 'other' }),
    ]);
    expect(answers.map(({ verdict }) => verdict)).toEqual(['scheduled', 'absent', 'scheduled']);
    await node.dataSource.transaction(async (manager) => {
      const calls = [one(manager)(3, TOKYO), node.delays.cancel(NAME, KEY, { manager })];
      const [, gone] = await Promise.all(calls);
      expect(gone?.verdict).toBe('cancelled');
    });
    expect(await find()).toBeNull();
  });
});

describe('beside what the code declares', () => {
  const HOURLY = { every: '1h' } as const;

  it('no start of a node withdraws it', async () => {
    await one()(1, HOURLY);
    const before = await find();
    const declaring = await node.start({
      providers: [
        repeated(
          plainHandler(NAME, () => {}),
          NAME,
          { ...HOURLY, key: 'in code' },
        ),
      ],
    });
    expect(await find('in code')).not.toBeNull();
    await declaring.stop();
    const later = await node.start({ providers: [plainHandler(NAME, () => {})] });
    expect(await find('in code')).toBeNull();
    expect(await find()).toEqual(before);
    await later.stop();
  });

  it('the code takes over a key that it declares', async () => {
    await one()('by a call', HOURLY);
    const declaring = await node.start({
      providers: [
        repeated(
          plainHandler(NAME, () => {}),
          NAME,
          { ...HOURLY, key: KEY, payload: 'in code' },
        ),
      ],
    });
    expect(await find()).toMatchObject({ payload: 'in code' });
    await expect(one()('by a call', HOURLY)).rejects.toMatchObject({ field: 'key' });
    await declaring.stop();
  });
});
