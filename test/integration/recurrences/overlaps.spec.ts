import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.slow';
const LEASE_MS = 1_000;

let stage: Stage;
let inside: number;
let most: number;
let runs: number;
let release: () => void;

beforeEach(async () => {
  stage = await Stage.open();
  [inside, most, runs, release] = [0, 0, 0, () => {}];
});

afterEach(async () => {
  release();
  await stage.close();
});

/** Ignores its signal until `release` is called. */
const deaf = plainHandler(
  NAME,
  async () => {
    runs += 1;
    most = Math.max(most, (inside += 1));
    if (runs === 1) await new Promise<void>((resolve) => (release = resolve));
    inside -= 1;
  },
  { timeout: 20, maxAttempts: 1 },
);

const leasedUntil = async (): Promise<string> =>
  (await stage.sql<{ at: string }>('SELECT leased_until::text AS at FROM delay_queue.delay'))[0]!
    .at;

it('no run begins on any node while the handler of the last one goes on past its timeout', async () => {
  const setup = { providers: [deaf], options: { lease: LEASE_MS, loadEvery: 200, horizon: '1s' } };
  const [first, second] = [await stage.start(setup), await stage.start(setup)];
  const told: string[] = [];
  for (const { events } of [first, second]) {
    for (const event of ['overrunning', 'dead', 'completed'] as const) {
      events.on(event, () => void told.push(event));
    }
  }
  const untilTold = (event: string) =>
    until(
      () => told,
      () => told.includes(event),
    );
  await first.delays.schedule(NAME, null, { key: 'k', after: 0, repeat: { every: '1s' } });
  await untilTold('overrunning');
  // Renewed twice: by then a second run would have been due, and the first lease over.
  for (let times = 0; times < 2; times += 1) {
    const before = await leasedUntil();
    await until(leasedUntil, (at) => at !== before);
  }
  expect({ runs, ...(await first.delays.find(NAME, 'k')) }).toMatchObject({
    runs: 1,
    state: 'running',
  });
  release();
  await untilTold('completed');
  expect(told.slice(0, 3)).toEqual(['overrunning', 'dead', 'completed']);
  expect(most).toBe(1);
  expect(await first.delays.history(NAME, 'k')).toContainEqual(
    expect.objectContaining({
      state: 'discarded',
      error: expect.stringContaining('DelayTimeoutError'),
    }),
  );
});
