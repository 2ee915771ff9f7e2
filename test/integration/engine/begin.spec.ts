import { expect, it, jest } from '@jest/globals';
import { DelayUnbegunError } from 'nestjs-delay-queue';
import type { Pool } from 'pg';
import { type DataSource, QueryFailedError } from 'typeorm';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { type DelayNode, fencedBatchHandler, fencedHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';

/** An attempt counts once its handler was called. */
const stage = stageOfEach();

const ONCE = { maxAttempts: 1 };
/** The attempts with which a handler was called. */
let called: number[];

const single = fencedHandler('test.fenced', ({ attempt }) => void called.push(attempt), ONCE);
const batch = fencedBatchHandler(
  'test.fenced',
  (delays) => void called.push(...delays.map(({ attempt }) => attempt)),
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

/** Takes every connection of the application's pool, in which nobody waits for long from then on. */
async function occupy(
  { dataSource }: DelayNode,
  count: number,
  connectionTimeoutMillis = 0,
): Promise<() => Promise<void>> {
  const runners = Array.from({ length: count }, () => dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  const { master } = dataSource.driver as unknown as { master: Pool };
  master.options.connectionTimeoutMillis = connectionTimeoutMillis;
  return async () => {
    await Promise.all(runners.map((runner) => runner.release()));
  };
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

it('a pool that gives no connection costs no attempt, and what is due is not claimed over and over', async () => {
  const { node, events, troubles, inTrouble } = await start({ poolMax: 3 });
  const release = await occupy(node, 3, 1);
  const claim = stage.parts.intercept(AttemptStore, 'claim');
  await scheduleThroughSql(100);
  // Two places, and they rest after each failure: a claim of two at most for each.
  await inTrouble(6);
  const most = troubles.length + 2;
  expect(claim.calls.length).toBeLessThanOrEqual(most);
  expect(claim.calls.flatMap(([requests]) => requests).length).toBeLessThanOrEqual(most);
  expect(events).toEqual([]);
  const recovered = node.next('taskRecovered', ({ task }) => task === 'begin');
  await release();
  await recovered;
  await stage.noneLeft();
  expect(called).toEqual(Array.from({ length: 100 }, () => 1));
  expect(await stage.sql('SELECT DISTINCT attempts, error FROM delay_queue.history')).toEqual([
    { attempts: 1, error: null },
  ]);
});

it('a wait for a connection that is longer than half of a lease costs no attempt', async () => {
  const options = { lease: '3s', timeout: '3s' } as const;
  const { node, events, inTrouble } = await start({ poolMax: 2, options });
  const release = await occupy(node, 2);
  await scheduleThroughSql(3);
  expect((await inTrouble(1))[0]).toBeInstanceOf(DelayUnbegunError);
  // While the pool is as it was: the row is free for any node.
  await untilGivenBack();
  expect(events).toEqual([]);
  await release();
  await stage.noneLeft();
  expect(called).toEqual([1, 1, 1]);
  expect(events).not.toContain('dead');
});

const broken = new Error('Connection terminated unexpectedly');

/** The first transaction, which is that of an attempt, cannot be begun. */
function failToBegin(dataSource: DataSource): void {
  const create = dataSource.createQueryRunner.bind(dataSource);
  jest.spyOn(dataSource, 'createQueryRunner').mockImplementationOnce((mode) => {
    const runner = create(mode);
    runner.startTransaction = () => Promise.reject(broken);
    return runner;
  });
}

it.each([
  ['BEGIN', 'one', single],
  ['the fence', 'one', single],
  ['the fence', 'a batch', batch],
])('%s that fails costs no attempt: of %s', async (what, _, handler) => {
  const { node, events, inTrouble } = await start({ providers: [handler] });
  await node.delays.scheduleMany(
    ['a', 'b', 'c'].map((key) => ({ name: 'test.fenced', payload: null, after: 100, key })),
  );
  if (what === 'BEGIN') failToBegin(node.dataSource);
  else
    stage.parts.intercept(
      AttemptStore,
      'fence',
      async () => {
        throw broken;
      },
      1,
    );
  const [error] = await inTrouble(1);
  // TypeORM wraps what comes of its START TRANSACTION, with which the fence is sent.
  expect(error instanceof QueryFailedError ? error.driverError : error).toBe(broken);
  await stage.noneLeft();
  expect(called).toEqual([1, 1, 1]);
  expect(events.filter((event) => event !== 'completed')).toEqual([
    'started',
    'started',
    'started',
  ]);
});

it('a node that stops gives back what could not begin', async () => {
  const { node } = await start({ poolMax: 2, options: { drainTimeout: 0 } });
  const release = await occupy(node, 2);
  await scheduleThroughSql(3);
  await stage.until(
    'SELECT FROM delay_queue.delay WHERE leased_by IS NOT NULL',
    (rows) => rows.length > 0,
  );
  const stopping = node.stop();
  expect(await untilGivenBack()).toHaveLength(3);
  await release();
  await stopping;
});
