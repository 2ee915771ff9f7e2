import { expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { startTested, told } from './support/tested.js';

const NAME = 'test.daily';
const TOKYO = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' } as const;

const DAY_MS = 24 * 3_600_000;

const stage = stageOfEach();

const start = (...repeats: Repeats[]) => {
  const handler = plainHandler(NAME, () => {});
  return startTested(stage, { providers: [repeated(handler, NAME, ...repeats)] });
};

it('what recurs keeps its times while time passes', async () => {
  const repeats = {
    every: { every: '24h', catchUp: 'each' },
    cron: { ...TOKYO, catchUp: 'each' },
    'cron, one run for all that was missed': TOKYO,
  } as const;
  const keys = Object.keys(repeats);
  const { testing, admin } = await start(
    ...Object.entries(repeats).map(([key, repeat]) => ({ ...repeat, key })),
  );
  const dueMs = async () =>
    (await admin.list({})).map(({ key, dueAt }) => [key, dueAt.getTime()] as const);
  const first = new Map(await dueMs());
  const ran = told(await testing.advance('96h'));
  for (const key of keys) {
    const end = `${NAME} ${key}: completed`;
    expect(ran.filter((run) => run === end)).toEqual(Array.from({ length: 4 }, () => end));
  }
  for (const [key, ms] of await dueMs()) expect(ms - first.get(key)!).toBe(4 * DAY_MS);
  const kept = (await admin.list({})).map(({ key, repeat }) => [key, repeat]);
  expect(Object.fromEntries(kept)).toEqual({
    every: { every: 86_400_000, catchUp: 'each' },
    cron: { ...TOKYO, catchUp: 'each' },
    'cron, one run for all that was missed': { ...TOKYO, catchUp: 'latest' },
  });
});

it('what the code declares begins anew with clear, whatever has become of it', async () => {
  const { testing, delays, admin } = await start(
    { every: '24h', key: 'repeat' },
    { every: '24h', key: 'cancelled' },
  );
  const first = (await delays.find(NAME, 'repeat'))!;
  await testing.advance('5h');
  await delays.reschedule(NAME, 'repeat', { after: '3s' });
  await delays.cancel(NAME, 'cancelled');
  await delays.schedule(NAME, null, { repeat: { every: '1h' }, key: 'mine' });
  await testing.clear();
  const found = await admin.list({});
  expect(new Set(found.map(({ key }) => key))).toEqual(new Set(['cancelled', 'repeat']));
  for (const { state, attempts, dueAt } of found) {
    expect([state, attempts]).toEqual(['scheduled', 0]);
    expect(dueAt.getTime()).toBeGreaterThanOrEqual(first.dueAt.getTime());
    expect(dueAt.getTime()).toBeLessThan(first.dueAt.getTime() + 3_600_000);
  }
  await testing.expectScheduled(NAME, 'repeat', { dueIn: '24h' });
  expect(await testing.advance('25h')).toHaveLength(2);
});

it("keeps a wall clock's instants when clear has set the time", async () => {
  const { testing, delays } = await start(TOKYO);
  await testing.advance('7h');
  // A Sunday evening in Tokyo.
  await testing.clear({ now: new Date('2031-03-02T11:00:00.000Z') });
  const { dueAt } = (await delays.find(NAME, 'repeat'))!;
  expect(dueAt).toEqual(new Date('2031-03-02T18:00:00.000Z'));
  const ran = await testing.advance('24h');
  expect(ran.map(({ at }) => at)).toEqual([dueAt]);
});
