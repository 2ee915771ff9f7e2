import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { type Delay, DelayService } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { appModule } from '../../support/delay-node.js';
import { fakeDate } from './support/fake-date.js';
import { fails, TestedNode, told } from './support/tested.js';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;

/** A Sunday. */
const START = new Date('2031-03-02T07:30:00.000Z');

/** All that a test sees or says is in one time, and a `Date` that it has faked agrees. */
const node = new TestedNode(
  { 'test.a': {}, 'test.b': {}, 'test.second': { global: { rateLimit: { max: 1, per: '1s' } } } },
  { history: { attempts: true } },
);

let unfollow: () => void;

beforeEach(async () => {
  fakeDate(START);
  await node.testing.clear({ now: new Date() });
  unfollow = node.testing.onTime((now) => jest.setSystemTime(now));
});

afterEach(async () => {
  unfollow();
  jest.useRealTimers();
  await node.testing.clear();
});

it('is what a faked Date says, before, in and after what runs', async () => {
  const seen: unknown[] = [];
  node.does['test.a'] = ({ dueAt, createdAt, latenessMs }: Delay) =>
    seen.push([dueAt, createdAt, latenessMs], new Date(), node.testing.now());
  const { dueAt } = await node.schedule('test.a', '1', '48h');
  expect(dueAt).toEqual(new Date(Date.now() + 48 * HOUR_MS));
  const at = new Date(Date.now() + 12 * HOUR_MS);
  expect(await node.delays.schedule('test.b', { text: '' }, { at, key: 'at' })).toMatchObject({
    dueAt: at,
  });
  expect((await node.testing.advance('72h')).map((run) => run.at)).toEqual([at, dueAt]);
  expect(seen).toEqual([[dueAt, START, 0], dueAt, dueAt]);
  expect(new Date()).toEqual(new Date(START.getTime() + 72 * HOUR_MS));
  expect(node.testing.now()).toEqual(new Date());
  const [record] = await node.delays.history('test.a', '1');
  expect(record).toMatchObject({ dueAt, createdAt: START, endedAt: dueAt, latenessMs: 0 });
  expect(record?.attemptLog).toEqual([
    expect.objectContaining({ startedAt: dueAt, endedAt: dueAt, outcome: 'completed' }),
  ]);
});

it('stands while nothing moves it, whatever that takes', async () => {
  await node.sql('SELECT pg_sleep(0.05)');
  await node.schedule('test.a', '1', '1h');
  await node.sql('SELECT pg_sleep(0.05)');
  expect(await node.delays.find('test.a', '1')).toMatchObject({ createdAt: START });
  await node.testing.expectScheduled('test.a', '1', { dueIn: '1h', within: 0 });
  expect(await node.testing.drain()).toEqual([]);
  expect(node.testing.now()).toEqual(START);
});

it('is that of pauses, of moves and of what waits no longer', async () => {
  const { admin, delays, testing } = node;
  const until = new Date(Date.now() + 5 * HOUR_MS);
  expect(await admin.pause('test.a', { until })).toMatchObject({ until, pausedAt: START });
  await node.schedule('test.a', 'paused', '1h');
  const often = { after: '2h', key: 'often', maxWait: '3h' } as const;
  await delays.schedule('test.b', { text: '' }, often);
  await testing.advance('90m');
  const again = await delays.schedule('test.b', { text: '' }, often);
  expect(again.dueAt).toEqual(new Date(START.getTime() + 3 * HOUR_MS));
  await delays.reschedule('test.b', 'often', { extendBy: '30m' });
  const ran = await testing.advanceTo(until);
  expect(ran.map(({ key, at }) => [key, at])).toEqual([
    ['often', new Date(START.getTime() + 3.5 * HOUR_MS)],
    ['paused', until],
  ]);
  expect(await admin.resume('test.a')).toBeNull();
  const [often1] = await delays.history('test.b', 'often');
  expect(often1).toMatchObject({ endedAt: ran[0]?.at, latenessMs: 0 });
});

it('is that of retries, dead letters and of those that are retried', async () => {
  node.does['test.a'] = fails;
  await node.schedule('test.a', '1', '1h');
  const ran = await node.testing.advance('10h');
  expect(ran.map(({ at, outcome }) => [outcome, Number(at) - Number(START)])).toEqual([
    ['retrying', HOUR_MS],
    ['retrying', 2 * HOUR_MS],
    ['dead', 3 * HOUR_MS],
  ]);
  node.does = {};
  expect(await node.delays.retryDead('test.a', '1')).toMatchObject({ verdict: 'retried' });
  const [run] = await node.testing.drain();
  expect(run).toMatchObject({ outcome: 'completed', at: new Date() });
});

it.each([
  [
    'a Monday, over the start of summer time',
    'America/New_York',
    '0 9 * * 1',
    ['2031-03-03T14:00:00.000Z', '2031-03-10T13:00:00.000Z', '2031-03-17T13:00:00.000Z'],
  ],
  ['a night whose hour is missing', 'America/New_York', '30 2 9 3 *', ['2031-03-09T07:00:00.000Z']],
])('is that of wall clocks: %s', async (_, timeZone, cron, instants) => {
  await node.delays.schedule('test.a', { n: 1 }, { repeat: { cron, timeZone }, key: 'payout' });
  const ran = await node.testing.advance('16d');
  expect(ran.map(({ at }) => at.toISOString())).toEqual(instants);
});

it('is that of rates: of sixty under one in a second, one begins each second', async () => {
  const due = { name: 'test.second', payload: null, after: '1h' } as const;
  const keys = Array.from({ length: 60 }, (_, index) => `${index}`.padStart(2, '0'));
  await node.delays.scheduleMany(keys.map((key) => ({ ...due, key })));
  const ran = [...(await node.testing.advance('1h')), ...(await node.testing.advance('59s'))];
  expect(ran.map(({ key, at }) => [key, Number(at) - Number(START) - HOUR_MS])).toEqual(
    keys.map((key, index) => [key, index * SECOND_MS]),
  );
  const ended = await node.sql<{ ended_at: Date }>(
    'SELECT ended_at FROM delay_queue.history ORDER BY ended_at',
  );
  expect(ended.map((row) => row.ended_at)).toEqual(ran.map(({ at }) => at));
});

it('is that of nodes and of figures', async () => {
  await node.schedule('test.a', 'late', '1h');
  await node.admin.pause('test.a');
  await node.testing.advance('3h');
  const { names, nodes } = await node.admin.stats();
  expect(names).toEqual([
    expect.objectContaining({ name: 'test.a', oldestOverdueMs: 2 * HOUR_MS }),
  ]);
  for (const { seenAt } of nodes) {
    expect(Math.abs(Number(seenAt) - Date.now())).toBeLessThan(60 * SECOND_MS);
  }
});

it('ends the lease of a process that died, as it passes', async () => {
  await node.schedule('test.a', '1', 0);
  await node.sql(
    `UPDATE delay_queue.delay SET leased_by = 'dead', leased_until = delay_queue.testing_now() + interval '30 s',
            attempts = 1, epoch = epoch + 1`,
  );
  expect(await node.testing.advance('29s')).toEqual([]);
  expect(await node.delays.find('test.a', '1')).toMatchObject({ state: 'running' });
  const [run] = await node.testing.advance('1s');
  expect(run).toMatchObject({ attempt: 2, at: new Date(START.getTime() + 30 * SECOND_MS) });
});

it('is that of an application beside it that only schedules, and of one that starts later', async () => {
  const url = (node.dataSource.options as { url: string }).url;
  const module = Test.createTestingModule({ imports: [appModule({ url })] });
  const producer = await DelayTesting.prepare(module, { worker: false }).compile();
  await producer.init();
  await node.testing.advance('2h');
  const delays = producer.get(DelayService);
  const { dueAt } = await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
  expect(dueAt).toEqual(new Date(Date.now() + HOUR_MS));
  await producer.close();
  expect(told(await node.testing.advance('1h'))).toEqual(['test.a 1: completed']);
});

it('is there in SQL, in whatever snapshot, and in a caller’s transaction', async () => {
  const now = 'SELECT delay_queue.testing_now() AS now';
  const { manager, commit } = await node.begin();
  expect(await manager.query(now)).toEqual([{ now: START }]);
  await node.testing.advance('1h');
  expect(await manager.query(now)).toEqual([{ now: new Date() }]);
  const { dueAt } = await node.delays.schedule(
    'test.a',
    { n: 1 },
    { after: '1h', key: '1', manager },
  );
  expect(dueAt).toEqual(new Date(Date.now() + HOUR_MS));
  await commit();
  expect(await node.delays.cancel('test.a', '1')).toMatchObject({ verdict: 'cancelled' });
  expect(await node.delays.history('test.a', '1')).toMatchObject([{ endedAt: new Date() }]);
});

it('clear removes pauses, limits and history, and has the time be the database’s', async () => {
  await node.schedule('test.second', '1', 0);
  await node.schedule('test.second', '2', 0);
  await node.testing.drain();
  await node.admin.pause('test.a');
  await node.testing.advance('9d');
  await node.testing.clear();
  for (const table of ['delay', 'history', 'pause', 'quota', 'permit']) {
    expect(await node.sql(`SELECT * FROM delay_queue.${table}`)).toEqual([]);
  }
  unfollow();
  jest.useRealTimers();
  expect(Math.abs(Number(node.testing.now()) - Date.now())).toBeLessThan(60 * SECOND_MS);
  await node.schedule('test.second', '3', 0);
  await node.schedule('test.a', '4', 0);
  expect(told(await node.testing.drain()).toSorted()).toEqual([
    'test.a 4: completed',
    'test.second 3: completed',
  ]);
});
