import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Injectable, type Provider } from '@nestjs/common';
import { delayChannels, DelayEvents } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.hourly';
const BY_HAND = 'none, made due by hand';
const HOUR = 3_600_000;
const DOWN_MS = 3.5 * HOUR;

const REPEATS: Repeats[] = [
  { every: '1h', catchUp: 'each', key: 'each' },
  { every: '1h', catchUp: 'latest', key: 'latest' },
  { every: '1h', catchUp: 'none', key: 'none' },
  { every: '1h', catchUp: 'none', key: BY_HAND },
];

let stage: Stage;
let node: DelayNode;
let fromMs: number;
/** The due times of the runs, by key. */
const ran: Record<string, Date[]> = { each: [], latest: [], none: [], [BY_HAND]: [] };

/** The instants that were told as skipped, by key, by the event and by the channel. */
const skips: Record<string, unknown[]> = {};

@Injectable()
class Watch {
  constructor(events: DelayEvents) {
    events.on('skipped', ({ key, count, from, to }) => {
      (skips[key!] ??= []).push(['event', count, hours(from), hours(to)]);
    });
    const ignored = { start() {}, end() {}, asyncStart() {}, error() {} };
    delayChannels.skipped.subscribe({
      ...ignored,
      asyncEnd: ({ key, count, from, to }) => {
        (skips[key!] ??= []).push(['channel', count, hours(from), hours(to)]);
      },
    });
  }
}

const start = (...providers: Provider[]): Promise<DelayNode> => {
  const handler = plainHandler(NAME, ({ key, dueAt }) => void ran[key!]!.push(dueAt));
  return stage.start({ providers: [repeated(handler, NAME, ...REPEATS), ...providers] });
};

/** Since the first instant. */
const hours = (at: Date): number => (at.getTime() - fromMs) / HOUR;

beforeAll(async () => {
  stage = await Stage.open();
  await (await start()).stop();
  // As if no node had run for so long: the first instant was then.
  const rows = await stage.sql<{ from: string }>(
    `UPDATE delay_queue.delay d
     SET due_at = s.since, wake_at = s.since,
         repeat = jsonb_set(repeat, '{from}', to_jsonb((extract(epoch FROM s.since) * 1000)::bigint))
     FROM (SELECT date_trunc('milliseconds', clock_timestamp() - $1 * interval '1 ms') AS since) s
     RETURNING d.repeat ->> 'from' AS from`,
    [DOWN_MS],
  );
  fromMs = Number(rows[0]?.from);
  const producer = await stage.start({ options: { worker: false } });
  await producer.admin.runNow([{ name: NAME, key: BY_HAND }]);
  node = await start(Watch);
  // Without drift, however long it took.
  await until(
    () => node.admin.list({ repeating: true }),
    (delays) => delays.every(({ state, dueAt }) => state === 'scheduled' && hours(dueAt) === 4),
  );
});

afterAll(() => stage.close());

it.each([
  ['each', [0, 1, 2, 3]],
  ['latest', [3]],
  ['none', []],
])('after a downtime of three hours and a half, %s runs for the hours %j', async (key, runs) => {
  expect(ran[key]?.map(hours)).toEqual(runs);
  const history = await node.delays.history(NAME, key);
  const told = history.map(({ state, dueAt }) => [state, hours(dueAt)]);
  expect(told.toReversed()).toEqual(runs.map((hour) => ['completed', hour]));
});

const twice = (count: number, to: number): unknown[] => [
  ['event', count, 0, to],
  ['channel', count, 0, to],
];

it('instants that are left out are told once, and the story of the delay has them', async () => {
  expect(skips).toEqual({ latest: twice(3, 2), none: twice(4, 3) });
  const { delays, history } = await node.admin.story({ name: NAME });
  const moves = [...delays, ...history].flatMap(({ key, moveLog }) =>
    moveLog
      .filter(({ call }) => call === 'catchUp')
      .map(({ from, to, skipped: count }) => [key, hours(from), hours(to), count]),
  );
  expect(moves.toSorted(([one], [other]) => String(one).localeCompare(String(other)))).toEqual([
    ['latest', 0, 4, 3],
    ['none', 0, 4, 4],
  ]);
});

it('none: what was made due by hand while nobody ran it is not missed', () => {
  expect(ran[BY_HAND]).toHaveLength(1);
  expect(hours(ran[BY_HAND]![0]!)).toBeGreaterThan(3.4);
});
