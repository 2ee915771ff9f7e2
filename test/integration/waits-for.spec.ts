import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DelayName, DelayWait } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler, type Signal, signal } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

/** What `DelayAdmin` says each delay waits for. */

let stage: Stage;
let node: DelayNode;
/** Each handler that is held waits for it. */
let gate: Signal<void>;

const HOUR_MS = 3_600_000;

const fails = (): Promise<void> => Promise.reject(new Error('no'));

beforeEach(async () => {
  stage = await Stage.open();
  gate = signal();
  const held = (): Promise<void> => gate.promise;
  node = await stage.start({
    providers: [
      plainHandler('test.limited', held, { global: { concurrency: 1 } }),
      plainHandler('test.rate', () => {}, { global: { rateLimit: { max: 1, per: '1h' } } }),
      plainHandler('test.both', held, {
        global: { concurrency: 1, rateLimit: { max: 1, per: '1h' } },
      }),
      plainHandler('test.grouped', held, { perGroup: { concurrency: 1 } }),
      plainHandler('test.held', held, { concurrency: 1 }),
      plainHandler('test.paused', () => {}),
      plainHandler('test.retries', fails, {
        maxAttempts: 2,
        backoff: { base: HOUR_MS, max: HOUR_MS },
      }),
      plainHandler('test.fails', fails, { maxAttempts: 1 }),
    ],
    options: { nodeName: 'here' },
  });
});

afterEach(async () => {
  gate.resolve();
  await stage.close();
});

const schedule = (name: DelayName, key: string, more: { group?: string; after?: string } = {}) =>
  node.delays.schedule(name, null, { after: 0, key, ...more });

/** By key. */
async function waits(of = node): Promise<Record<string, DelayWait | null>> {
  const listed = await of.admin.list({});
  return Object.fromEntries(listed.map(({ key, waitsFor }) => [key, waitsFor]));
}

/** Looks until each of these waits for that; answers all. */
const untilWaits = (what: Record<string, string | undefined>) =>
  until(waits, (all) => Object.entries(what).every(([key, one]) => all[key]?.what === one));

it('a pause, a missing node, a limit, its own time and a turn are told apart, and counted', async () => {
  await node.admin.pause('test.paused', { reason: 'the provider is down' });
  await node.admin.pause('test.grouped', { group: 'closed', for: '1h' });
  await schedule('test.grouped', 'busy runs', { group: 'busy' });
  await schedule('test.limited', 'limited runs');
  await schedule('test.held', 'held runs');
  await schedule('test.rate', 'rate ran');
  await schedule('test.fails', 'dead');
  await schedule('test.retries', 'retries');
  await schedule('test.held', 'due', { after: '1h' });
  const first = { 'busy runs': 'attempt', 'limited runs': 'attempt', 'held runs': 'attempt' };
  await untilWaits({ ...first, 'rate ran': undefined, dead: undefined, retries: 'retry' });

  await schedule('test.paused', 'paused', { group: 'any' });
  await schedule('test.grouped', 'closed', { group: 'closed' });
  await schedule('test.grouped', 'busy', { group: 'busy' });
  await schedule('test.limited', 'limited');
  await schedule('test.rate', 'rate');
  await schedule('test.held', 'turn');
  await schedule('test.nobody', 'nobody');
  const all = await untilWaits({ paused: 'pause', busy: 'limit', limited: 'limit', turn: 'turn' });

  const [since, later] = [expect.any(Date), expect.any(Date)];
  const runs = { what: 'attempt', node: 'here', until: later };
  const reason = 'the provider is down';
  expect(all).toEqual({
    'busy runs': runs,
    'limited runs': runs,
    'held runs': runs,
    dead: null,
    retries: { what: 'retry', until: later },
    due: { what: 'due', until: later },
    paused: { what: 'pause', group: null, reason, since, until: null },
    closed: { what: 'pause', group: 'closed', reason: null, since, until: later },
    busy: { what: 'limit', group: 'busy', since, until: null },
    limited: { what: 'limit', group: null, since, until: null },
    rate: { what: 'limit', group: null, since, until: later },
    turn: { what: 'turn', since },
    nobody: { what: 'node', since },
  });
  const { delays } = await node.admin.story('paused');
  expect(delays).toMatchObject([{ waitsFor: all['paused'] }]);

  const { names } = await node.admin.stats();
  const counts = names
    .filter(({ overdue }) => overdue > 0)
    .map((one) => [one.name, one.overduePaused, one.overdueLimited, one.late, one.nodes]);
  expect(counts).toEqual([
    ['test.grouped', 1, 1, 0, 1],
    ['test.held', 0, 0, 1, 1],
    ['test.limited', 0, 1, 0, 1],
    ['test.nobody', 0, 0, 1, 0],
    ['test.paused', 1, 0, 0, 1],
    ['test.rate', 0, 1, 0, 1],
  ]);
  for (const { late, oldestLateMs } of names) expect(oldestLateMs !== null).toBe(late > 0);
  const groups = await node.admin.groupStats({ name: 'test.grouped' });
  expect(Object.fromEntries(groups.map((one) => [one.group, [one.paused, one.limited]]))).toEqual({
    busy: [false, true],
    closed: [true, false],
  });
});

it('a limit that was used up holds nothing once its attempts are over; a rate does until it has filled', async () => {
  await schedule('test.limited', 'limited ran');
  await schedule('test.rate', 'rate ran');
  gate.resolve();
  await until(waits, (all) => Object.keys(all).length === 0);
  await node.stop();
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     SELECT 'hangs', '{test.limited,test.rate}', false, now(), now() + interval '1 hour'`,
  );
  node = await stage.start({ options: { worker: false } });
  await schedule('test.limited', 'limited');
  await schedule('test.rate', 'rate');
  expect(await waits()).toMatchObject({ limited: { what: 'turn' }, rate: { what: 'limit' } });
  await stage.sql(`UPDATE delay_queue.quota SET full_until = now() WHERE name = 'test.rate'`);
  expect(await waits()).toMatchObject({ rate: { what: 'turn' } });
});

it('of a rate and a number of places, both used up, each holds when the other is free again', async () => {
  await schedule('test.both', 'runs');
  await untilWaits({ runs: 'attempt' });
  await schedule('test.both', 'next');
  const { next } = await untilWaits({ next: 'limit' });
  expect(next).toEqual({
    what: 'limit',
    group: null,
    since: expect.any(Date),
    until: expect.any(Date),
  });
  await stage.sql('UPDATE delay_queue.quota SET full_until = now()');
  expect(await waits()).toMatchObject({ next: { what: 'limit', until: null } });
  await stage.sql(`UPDATE delay_queue.quota SET full_until = now() + interval '1 hour'`);
  gate.resolve();
  const left = await until(waits, (all) => !('runs' in all));
  expect(left).toMatchObject({ next: { what: 'limit', until: expect.any(Date) } });
});
