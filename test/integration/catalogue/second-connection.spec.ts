import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { fencedHandler, signal } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';

const POOL_MAX = 5;
/** What the pool leaves to transactional handlers. */
const IN_FLIGHT = POOL_MAX - 1;
const DELAYS = 40;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

it('transactional handlers that each want a second connection of the pool all get it in turn', async () => {
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
  const together = signal();
  let inFlight = 0;
  const node = await stage.start({
    poolMax: POOL_MAX,
    options: { concurrency: DELAYS, timeout: '60s', maxAttempts: 1 },
    providers: [
      fencedHandler('test.greedy', async ({ key }, { manager }) => {
        await manager.query('INSERT INTO effect VALUES ($1)', [key]);
        inFlight += 1;
        if (inFlight === IN_FLIGHT) together.resolve();
        // None of them asks before as many hold a connection as ever may.
        await together.promise;
        await manager.connection.query('SELECT pg_sleep(0.001)');
      }),
    ],
  });
  await node.delays.scheduleMany(
    Array.from({ length: DELAYS }, (_, n) => ({
      name: 'test.greedy' as const,
      payload: null,
      key: `k${n}`,
      after: 0,
    })),
  );
  await stage.until('SELECT FROM delay_queue.delay', (rows) => rows.length === 0);
  expect(
    await stage.sql('SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM effect'),
  ).toEqual([{ lines: DELAYS, keys: DELAYS }]);
});
