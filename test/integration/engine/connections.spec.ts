import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { DelayConfigError, OnDeadDelay } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { refusedStart } from './support/refused-start.js';
import { AdviceWatch } from './support/advice-watch.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

it('an application that has taken every connection of its pool does not keep plain handlers from being claimed, renewed and acknowledged', async () => {
  const poolMax = 3;
  const began = signal();
  const end = signal();
  const handler = plainHandler(
    'test.held',
    () => {
      began.resolve();
      return end.promise;
    },
    { timeout: '60s' },
  );
  const node = await stage.start({ poolMax, options: { lease: '8s' }, providers: [handler] });
  await node.delays.schedule('test.held', null, { after: 200, key: 'k' });
  const runners = Array.from({ length: poolMax }, () => node.dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  await began.promise;
  // Another one looks many times, and takes nothing.
  await stage.start({
    options: { loadEvery: '200ms' },
    providers: [plainHandler('test.held', () => {})],
  });
  const leaseEnd = (): Promise<{ ends: number }[]> =>
    stage.sql(`SELECT extract(epoch FROM leased_until)::float8 AS ends FROM delay_queue.delay`);
  const [first] = await leaseEnd();
  await until(leaseEnd, ([row]) => row!.ends > first!.ends);
  const completed = node.next('completed');
  end.resolve();
  expect(await completed).toMatchObject({ attempt: 1 });
  await Promise.all(runners.map((runner) => runner.release()));
});

describe('transactional handlers', () => {
  it('share as many sessions as they are given, and the pool of the application is its own', async () => {
    const transactionalConnections = 4;
    const end = signal();
    const seen = { now: 0, most: 0 };
    const run = async (): Promise<void> => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await end.promise;
      seen.now -= 1;
    };
    const node = await stage.start({
      poolMax: 2,
      options: { concurrency: 10, transactionalConnections },
      providers: [fencedHandler('test.one', run), fencedHandler('test.two', run)],
    });
    const runners = [node.dataSource.createQueryRunner(), node.dataSource.createQueryRunner()];
    await Promise.all(runners.map((runner) => runner.connect()));
    await stage.sql(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
       SELECT CASE WHEN n % 2 = 0 THEN 'test.one' ELSE 'test.two' END, 'null', t, t, t
       FROM generate_series(1, 10) AS n, clock_timestamp() AS t;
       SELECT pg_notify('delay_queue', 'w' || json_agg(json_build_array(id, 0, name, 0)))
       FROM delay_queue.delay`,
    );
    // Although the application has used up its pool.
    await until(
      () => seen.now,
      (now) => now === transactionalConnections,
    );
    for (const runner of runners) await runner.release();
    await node.dataSource.query('SELECT 1');
    end.resolve();
    await stage.noneLeft();
    expect(seen.most).toBe(transactionalConnections);
  });

  it('with too few sessions for their concurrency are started with an advice', async () => {
    const handler = fencedHandler('test.fenced', () => {}, { concurrency: 5 });
    const watch = new AdviceWatch();
    const node = await stage.start({ poolMax: 2, providers: [handler, watch.provider] });
    await node.delays.schedule('test.fenced', null, { after: 0 });
    await stage.noneLeft();
    expect(watch.advice).toEqual([
      expect.stringMatching(/concurrency 5 cannot be reached; .* have 2 connections/),
    ]);
  });

  it('are refused where none is left beside that of @OnDeadDelay', async () => {
    const error = await refusedStart({
      url: stage.url,
      options: { transactionalConnections: 1 },
      providers: [fencedHandler('test.fenced', () => {}), Mourner],
    });
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/at least 2 transactionalConnections, not 1/),
    });
  });
});

@Injectable()
class Mourner {
  @OnDeadDelay('test.fenced')
  mourn(): void {}
}

const openSessions = (): Promise<{ application_name: string }[]> =>
  stage.sql(
    `SELECT application_name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name <> 'stage'`,
  );

describe('a node without handlers, which has no listener that would know whether sessions are its own', () => {
  it('writes on sessions of its own once they have proven to be', async () => {
    const { delays, dataSource } = await stage.start({ poolMax: 1 });
    const [pool] = await dataSource.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
    let n = 0;
    const others = await until(
      async () => {
        n += 1;
        await delays.schedule('test.a', { n }, { after: '1h', key: `k${n}` });
        return stage.sql(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND query LIKE '%INSERT INTO%' AND pid NOT IN ($1, pg_backend_pid())`,
          [pool!.pid],
        );
      },
      (sessions) => sessions.length > 0,
    );
    expect(others).toHaveLength(1);
    expect(await delays.find('test.a', `k${n}`)).toMatchObject({ payload: { n } });
  });

  it('can be stopped while it does not know yet, and leaves no session behind', async () => {
    for (let times = 0; times < 2; times += 1) {
      const node = await stage.start({});
      await node.stop();
      expect(await until(openSessions, (open) => open.length === 0)).toEqual([]);
    }
  });
});
