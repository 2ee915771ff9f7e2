import { expect, it } from '@jest/globals';
import { DelayUnbegunError } from 'nestjs-delay-queue';
import type { PoolClient } from 'pg';
import { attemptPoolOf, occupyAttempts } from '../../support/attempt-sessions.js';
import { fencedBatchHandler, fencedHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { EFFECT_TABLE, stageOfEach } from './support/stage-of-each.js';
import { AttemptStore } from '../../support/engine-parts.js';

/** An attempt counts once its handler was called. */
const stage = stageOfEach({ tables: EFFECT_TABLE });

const ONCE = { maxAttempts: 1 };
/** The attempts with which a handler was called. */
let called: number[];

const EFFECT = `INSERT INTO effect SELECT COALESCE(key, '-') FROM unnest($1::text[]) AS key`;

const single = fencedHandler(
  'test.fenced',
  async ({ attempt, key }, { manager }) => {
    called.push(attempt);
    await manager.query(EFFECT, [[key]]);
  },
  ONCE,
);
const batch = fencedBatchHandler(
  'test.fenced',
  async (delays, { manager }) => {
    called.push(...delays.map(({ attempt }) => attempt));
    await manager.query(EFFECT, [delays.map(({ key }) => key)]);
  },
  { ...ONCE, batch: 10 },
);

/** A node, what it tells of attempts, and its troubles with their beginning. */
async function start(setup: Parameters<typeof stage.start>[0]) {
  called = [];
  const node = await stage.start({ providers: [single], ...setup });
  const events: string[] = [];
  for (const event of ['started', 'completed', 'retrying', 'split', 'dead', 'lost'] as const) {
    node.events.on(event, () => events.push(event));
  }
  const troubles: unknown[] = [];
  node.events.on('taskFailed', ({ task, error }) => task === 'begin' && troubles.push(error));
  const inTrouble = (count: number): Promise<unknown[]> =>
    until(
      () => troubles,
      ({ length }) => length >= count,
    );
  return { node, events, troubles, inTrouble };
}

/** On a connection that no pool of a node has a part in; due at once. */
const scheduleThroughSql = (count: number): Promise<unknown> =>
  stage.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT 'test.fenced', 'null', t, t, t
     FROM generate_series(1, ${count}), clock_timestamp() AS t;
     SELECT pg_notify('delay_queue', 'w' || json_agg(json_build_array(id, 0, name, 0)))
     FROM delay_queue.delay`,
  );

/** The rows, once they are free again and no attempt is spent. */
const untilGivenBack = () =>
  stage.until<{ leased_by: string | null; attempts: number }>(
    'SELECT leased_by, attempts FROM delay_queue.delay',
    (rows) => rows.every(({ leased_by: by, attempts }) => by === null && attempts === 0),
  );

it('sessions that cannot be had cost no attempt, and what is due is not claimed over and over', async () => {
  const { node, events, troubles, inTrouble } = await start({ poolMax: 3 });
  const release = await occupyAttempts(node, 3, 1);
  const claim = stage.parts.intercept(AttemptStore, 'claim');
  await scheduleThroughSql(100);
  // Three places, and they rest after each failure: a claim of three at most for each.
  await inTrouble(6);
  const most = troubles.length + 3;
  expect(claim.calls.length).toBeLessThanOrEqual(most);
  expect(claim.calls.flatMap(([requests]) => requests).length).toBeLessThanOrEqual(most);
  expect(events).toEqual([]);
  const recovered = node.next('taskRecovered', ({ task }) => task === 'begin');
  release();
  await recovered;
  await stage.noneLeft();
  expect(called).toEqual(Array.from({ length: 100 }, () => 1));
  expect(await stage.sql('SELECT DISTINCT attempts, error FROM delay_queue.history')).toEqual([
    { attempts: 1, error: null },
  ]);
});

it('a wait for a session that is longer than half of a lease costs no attempt', async () => {
  const options = { lease: '3s', timeout: '3s' } as const;
  const { node, events, inTrouble } = await start({ poolMax: 2, options });
  const release = await occupyAttempts(node, 2);
  await scheduleThroughSql(3);
  expect((await inTrouble(1))[0]).toBeInstanceOf(DelayUnbegunError);
  // While the pool is as it was: the row is free for any node.
  await untilGivenBack();
  expect(events).toEqual([]);
  release();
  await stage.noneLeft();
  expect(called).toEqual([1, 1, 1]);
  expect(events).not.toContain('dead');
});

/** What a session does before its first attempt, and what comes of it there. */
const BREAKS: Record<string, (client: PoolClient) => unknown> = {
  'that the server has ended': async (client) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    // Its end arrives before the first statement of the handler, or with that.
    await stage.sql('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
  },
  'that takes no writes': (client) => client.query('SET default_transaction_read_only = on'),
};

it.each(
  Object.keys(BREAKS).flatMap((which) => [
    { which, of: 'one', handler: single },
    { which, of: 'a batch', handler: batch },
  ]),
)('a session $which costs no attempt: of $of', async ({ which, handler }) => {
  const { node, inTrouble } = await start({ providers: [handler] });
  const pool = attemptPoolOf(node);
  const identify = pool.identify.bind(pool);
  pool.identify = async (client) => {
    pool.identify = identify;
    await identify(client);
    await BREAKS[which]!(client);
  };
  await node.delays.scheduleMany(
    ['a', 'b', 'c'].map((key) => ({ name: 'test.fenced', payload: null, after: 100, key })),
  );
  await inTrouble(1);
  await stage.noneLeft();
  expect(new Set(called)).toEqual(new Set([1]));
  const ends = await stage.sql('SELECT DISTINCT attempts, state FROM delay_queue.history');
  expect(ends).toEqual([{ attempts: 1, state: 'completed' }]);
  expect(await stage.sql('SELECT key FROM effect ORDER BY key')).toEqual([
    { key: 'a' },
    { key: 'b' },
    { key: 'c' },
  ]);
});

it('a node that stops gives back what could not begin', async () => {
  const { node } = await start({ poolMax: 2, options: { drainTimeout: 0 } });
  const release = await occupyAttempts(node, 2);
  await scheduleThroughSql(3);
  await stage.until(
    'SELECT FROM delay_queue.delay WHERE leased_by IS NOT NULL',
    (rows) => rows.length > 0,
  );
  const stopping = node.stop();
  expect(await untilGivenBack()).toHaveLength(3);
  release();
  await stopping;
});
