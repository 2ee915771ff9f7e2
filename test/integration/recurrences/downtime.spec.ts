import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CatchUp } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.hourly';
const KEY = 'repeat';
const HOUR = 3_600_000;

let stage: Stage;
/** Hours since the first instant for which each run stood. */
let ran: number[];
let fromMs: number;

beforeEach(async () => {
  stage = await Stage.open();
  ran = [];
});

afterEach(() => stage.close());

const start = (repeat: Repeats): Promise<DelayNode> =>
  stage.start({
    providers: [
      repeated(
        plainHandler(NAME, ({ dueAt }) => void ran.push((dueAt.getTime() - fromMs) / HOUR)),
        NAME,
        repeat,
      ),
    ],
  });

/** As if no node had run for so long: the first instant was then. */
async function nobodyRanFor(ms: number): Promise<void> {
  const [row] = await stage.sql<{ from: string }>(
    `UPDATE delay_queue.delay d
     SET due_at = s.since, wake_at = s.since,
         repeat = jsonb_set(repeat, '{from}', to_jsonb((extract(epoch FROM s.since) * 1000)::bigint))
     FROM (SELECT date_trunc('milliseconds', clock_timestamp() - $1 * interval '1 ms') AS since) s
     RETURNING d.repeat ->> 'from' AS from`,
    [ms],
  );
  fromMs = Number(row?.from);
}

/** When it is due, in hours since the first instant, once that lies ahead. */
async function goesOn(node: DelayNode): Promise<number> {
  const found = await until(
    () => node.delays.find(NAME, KEY),
    (delay) =>
      delay !== null && delay.state === 'scheduled' && delay.dueAt.getTime() > fromMs + 3.9 * HOUR,
  );
  return (found!.dueAt.getTime() - fromMs) / HOUR;
}

describe('after a downtime of three hours and a half', () => {
  const WAYS: [CatchUp, runs: number[]][] = [
    ['each', [0, 1, 2, 3]],
    ['latest', [3]],
    ['none', []],
  ];

  it.each(WAYS)('%s', async (catchUp, runs) => {
    const repeat = { every: '1h', catchUp } as const;
    await (await start(repeat)).stop();
    await nobodyRanFor(3.5 * HOUR);
    const node = await start(repeat);
    // Without drift, however long it took.
    expect(await goesOn(node)).toBe(4);
    expect(ran).toEqual(runs);
    const history = await node.delays.history(NAME, KEY);
    const told = history.map(({ state, dueAt }) => [state, (dueAt.getTime() - fromMs) / HOUR]);
    expect(told.toReversed()).toEqual(runs.map((hour) => ['completed', hour]));
  });
});

it('none: what is late by less than a minute runs', async () => {
  const repeat = { every: '1h', catchUp: 'none' } as const;
  await (await start(repeat)).stop();
  await nobodyRanFor(20_000);
  const node = await start(repeat);
  await until(
    () => node.delays.find(NAME, KEY),
    (delay) => delay !== null && delay.dueAt.getTime() === fromMs + HOUR,
  );
  expect(ran).toEqual([0]);
});

it('none: what was made due by hand while nobody ran it is not missed', async () => {
  const repeat = { every: '1h', catchUp: 'none' } as const;
  await (await start(repeat)).stop();
  await nobodyRanFor(3.5 * HOUR);
  const producer = await stage.start({ options: { worker: false } });
  expect(await producer.admin.runNow([{ name: NAME, key: KEY }])).toMatchObject([
    { verdict: 'due' },
  ]);
  const node = await start(repeat);
  expect(await goesOn(node)).toBe(4);
  expect(ran).toHaveLength(1);
  expect(ran[0]).toBeGreaterThan(3.4);
});

it('a cron that was missed for days runs once, for the last of its days', async () => {
  const repeat = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' } as const;
  const first = await start(repeat);
  const next = (await first.delays.find(NAME, KEY))!.dueAt;
  await first.stop();
  await stage.sql(
    `UPDATE delay_queue.delay SET due_at = due_at - interval '96 h', wake_at = due_at - interval '96 h'`,
  );
  fromMs = next.getTime();
  const node = await start(repeat);
  await until(
    () => node.delays.find(NAME, KEY),
    (delay) => delay?.dueAt.getTime() === next.getTime(),
  );
  // 23 to 25 hours before the next one.
  expect(ran).toHaveLength(1);
  expect(Math.abs(ran[0]! + 24)).toBeLessThanOrEqual(1);
});
