import { beforeEach, expect, it } from '@jest/globals';
import type { DelayInfo, RepeatOptions, ScheduleResult } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';

/** What becomes of delays that recur because a call says so. */
const NAME = 'test.report';
const KEY = 'customer-7';
const HOURLY = { every: '1h' } as const;
const TOKYO = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' } as const;

let seen: unknown[];

const node = new OneNode({
  providers: [plainHandler(NAME, ({ payload }) => void seen.push(payload))],
});

beforeEach(() => {
  seen = [];
});

const schedule = (
  payload: number,
  repeat: RepeatOptions,
  more: { key?: string; manager?: EntityManager } = {},
): Promise<ScheduleResult> => node.delays.schedule(NAME, payload, { key: KEY, repeat, ...more });

const find = (key = KEY): Promise<DelayInfo | null> => node.delays.find(NAME, key);

const declaring = (...repeats: Repeats[]): Promise<DelayNode> =>
  node.start({
    providers: [
      repeated(
        plainHandler(NAME, () => {}),
        NAME,
        ...repeats,
      ),
    ],
  });

it('is listed, goes on to recur with another payload, is moved once, and ends by cancel', async () => {
  const { dueAt } = await schedule(1, HOURLY);
  const repeat = { every: 3_600_000, catchUp: 'latest' };
  expect(await node.admin.list({ repeating: true })).toMatchObject([{ key: KEY, dueAt, repeat }]);
  await node.delays.schedule(NAME, 2, { after: '9d', key: KEY });
  expect(await find()).toMatchObject({ payload: 2, repeat });
  await node.delays.reschedule(NAME, KEY, { after: 0 });
  await until(
    () => find(),
    (delay) => delay?.dueAt.getTime() === dueAt.getTime(),
  );
  expect(seen).toEqual([2]);
  expect(await node.delays.cancel(NAME, KEY)).toMatchObject({ verdict: 'cancelled' });
  expect(await find()).toBeNull();
});

it('keeps its place among the calls of its key, and is gone with its transaction', async () => {
  const { manager, rollback } = await node.begin();
  const calls = [
    schedule(3, TOKYO, { manager }),
    node.delays.cancel(NAME, KEY, { manager }),
    schedule(4, TOKYO, { manager }),
  ];
  const verdicts = (await Promise.all(calls)).map(({ verdict }) => verdict);
  expect(verdicts).toEqual(['scheduled', 'cancelled', 'scheduled']);
  await rollback();
  expect(await find()).toBeNull();
});

it('is withdrawn by no start of a node, which withdraws what its code declared', async () => {
  await schedule(1, HOURLY);
  const before = await find();
  const first = await declaring({ ...HOURLY, key: 'in code' });
  expect(await find('in code')).not.toBeNull();
  await first.stop();
  await (await declaring()).stop();
  expect(await find('in code')).toBeNull();
  expect(await find()).toEqual(before);
});

it('is taken over by the code that declares its key', async () => {
  await schedule(1, HOURLY);
  const other = await declaring({ ...HOURLY, key: KEY, payload: 'in code' });
  expect(await find()).toMatchObject({ payload: 'in code' });
  await expect(schedule(1, HOURLY)).rejects.toMatchObject({ field: 'key' });
  await other.stop();
});
