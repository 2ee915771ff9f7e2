import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayUnbegunError } from 'nestjs-delay-queue';
import type { Pool } from 'pg';
import { type DataSource, QueryFailedError, type QueryRunner } from 'typeorm';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import {
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  signal,
} from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';

/** An attempt counts once its handler was called. */
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

/** What a node tells of attempts, and how often a handler ran. */
function told(node: DelayNode): string[] {
  const events: string[] = [];
  for (const event of ['started', 'completed', 'retrying', 'split', 'dead', 'lost'] as const) {
    node.events.on(event, () => events.push(event));
  }
  return events;
}

/** Takes every connection of the application's pool, in which nobody waits for long from then on. */
async function occupy(
  dataSource: DataSource,
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

const KINDS = {
  single: (run: (attempts: number[]) => void) =>
    fencedHandler('test.fenced', ({ attempt }) => run([attempt]), { maxAttempts: 1 }),
  batch: (run: (attempts: number[]) => void) =>
    fencedBatchHandler('test.fenced', (delays) => run(delays.map(({ attempt }) => attempt)), {
      maxAttempts: 1,
      batch: 10,
    }),
};

const scheduleThree = (node: DelayNode): Promise<unknown> =>
  node.delays.scheduleMany(
    ['a', 'b', 'c'].map((key) => ({ name: 'test.fenced', payload: null, after: 0, key })),
  );

const noneLeft = (): Promise<unknown> =>
  stage.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);

describe.each(Object.entries(KINDS))('transactional handlers, %s', (_kind, handlerOf) => {
  it('lose no attempt to a pool that gives them no connection', async () => {
    const attempts: number[] = [];
    const node = await stage.start({
      poolMax: 2,
      providers: [handlerOf((ran) => attempts.push(...ran))],
    });
    const events = told(node);
    const release = await occupy(node.dataSource, 2, 1);
    let troubles = 0;
    const twice = signal();
    const recovered = node.next('recovered', ({ during }) => during === 'begin');
    node.events.on('trouble', ({ during }) => {
      troubles += during === 'begin' ? 1 : 0;
      if (troubles === 2) twice.resolve();
    });
    // Through `stage`: the pool has no connection for it either.
    await scheduleThroughSql();
    await twice.promise;
    expect(events).toEqual([]);
    await release();
    await recovered;
    await noneLeft();
    expect(attempts).toEqual([1, 1, 1]);
    expect(events.filter((event) => event === 'completed')).toHaveLength(3);
    expect(events).not.toContain('dead');
    expect(await stage.sql('SELECT DISTINCT attempts, error FROM delay_queue.history')).toEqual([
      { attempts: 1, error: null },
    ]);
  });

  it('lose none to a wait for a connection that is longer than half of their lease', async () => {
    const attempts: number[] = [];
    const node = await stage.start({
      poolMax: 2,
      options: { lease: '1s', timeout: '1s' },
      providers: [handlerOf((ran) => attempts.push(...ran))],
    });
    const events = told(node);
    const release = await occupy(node.dataSource, 2);
    const trouble = node.next('trouble', ({ during }) => during === 'begin');
    await scheduleThroughSql();
    expect((await trouble).error).toBeInstanceOf(DelayUnbegunError);
    // Given back while the pool is as it was: the row is free for any node.
    await stage.until<{ leased_by: string | null; attempts: number; epoch: number }>(
      'SELECT leased_by, attempts, epoch FROM delay_queue.delay',
      (rows) => rows.every(({ leased_by: by, attempts: count }) => by === null && count === 0),
    );
    expect(events).toEqual([]);
    await release();
    await noneLeft();
    expect(attempts).toEqual([1, 1, 1]);
    expect(events).not.toContain('dead');
  });

  it.each(['BEGIN', 'the fence'])('lose none to %s that fails', async (what) => {
    const attempts: number[] = [];
    const node = await stage.start({
      providers: [handlerOf((ran) => attempts.push(...ran))],
    });
    const events = told(node);
    const broken = new Error('Connection terminated unexpectedly');
    if (what === 'BEGIN') failToBegin(node.dataSource, broken);
    else jest.spyOn(AttemptStore.prototype, 'fence').mockRejectedValueOnce(broken);
    const trouble = node.next('trouble', ({ during }) => during === 'begin');
    await scheduleThree(node);
    const { error } = await trouble;
    // TypeORM wraps what comes of its START TRANSACTION, with which the fence is sent.
    const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
    expect(cause).toBe(broken);
    await noneLeft();
    expect(attempts).toEqual([1, 1, 1]);
    expect(events.filter((event) => event !== 'started' && event !== 'completed')).toEqual([]);
    expect(events.filter((event) => event === 'started')).toHaveLength(3);
  });
});

/** On a connection that no pool of a node has a part in; due at once. */
const scheduleThroughSql = (): Promise<unknown> =>
  stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'test.fenced', key, 'null', t, t, t
     FROM unnest(ARRAY['a', 'b', 'c']) AS key, clock_timestamp() AS t;
     SELECT pg_notify('delay_queue', 'w' || json_agg(json_build_array(id, 0, name, 0)))
     FROM delay_queue.delay`,
  );

/** The first transaction, which is that of an attempt, cannot be begun. */
function failToBegin(dataSource: DataSource, error: Error): void {
  const create = dataSource.createQueryRunner.bind(dataSource);
  let isFirst = true;
  jest.spyOn(dataSource, 'createQueryRunner').mockImplementation((mode) => {
    const runner: QueryRunner = create(mode);
    const begin = runner.startTransaction.bind(runner);
    runner.startTransaction = async (level) => {
      if (!isFirst) return begin(level);
      isFirst = false;
      throw error;
    };
    return runner;
  });
}

it('while no transaction can begin, what is due is not claimed over and over', async () => {
  const node = await stage.start({
    poolMax: 3,
    providers: [fencedHandler('test.fenced', () => {})],
  });
  const release = await occupy(node.dataSource, 3, 1);
  const claim = jest.spyOn(AttemptStore.prototype, 'claim');
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT 'test.fenced', 'null', t, t, t
     FROM generate_series(1, 200), clock_timestamp() AS t;
     SELECT pg_notify('delay_queue', 'w' || json_agg(json_build_array(id, 0, name, 0)))
     FROM delay_queue.delay`,
  );
  let troubles = 0;
  node.events.on('trouble', ({ during }) => {
    troubles += during === 'begin' ? 1 : 0;
  });
  // Two places, and they rest after each failure: a claim of two at most for each.
  await until(
    () => troubles,
    (count) => count >= 6,
  );
  expect(claim.mock.calls.length).toBeLessThanOrEqual(troubles + 2);
  expect(claim.mock.calls.flatMap(([requests]) => requests).length).toBeLessThanOrEqual(
    troubles + 2,
  );
  await release();
  await noneLeft();
  const attempts = await stage.sql('SELECT DISTINCT attempts FROM delay_queue.history');
  expect(attempts).toEqual([{ attempts: 1 }]);
});

it('a node that stops gives back what could not begin', async () => {
  const node = await stage.start({
    poolMax: 2,
    options: { drainTimeout: 0 },
    providers: [fencedHandler('test.fenced', () => {}, { maxAttempts: 1 })],
  });
  const release = await occupy(node.dataSource, 2);
  await scheduleThroughSql();
  await stage.until('SELECT id FROM delay_queue.delay WHERE leased_by IS NOT NULL', (rows) =>
    Boolean(rows.length),
  );
  const stopping = node.stop();
  const given = await stage.until<{ attempts: number }>(
    'SELECT attempts, leased_by FROM delay_queue.delay',
    (rows) => rows.every((row) => 'leased_by' in row && row.leased_by === null),
  );
  expect(given.map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
  await release();
  await stopping;
});
