import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { DelayConfigError, DelayService } from 'nestjs-delay-queue';
import { appModule, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { refusedStart } from './support/refused-start.js';
import { Stage } from './support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

describe('an application that has taken every connection of its pool', () => {
  it('does not keep plain handlers from being claimed, renewed and acknowledged', async () => {
    const poolMax = 3;
    const began = signal();
    const end = signal();
    const node = await stage.start({
      poolMax,
      options: { lease: '1s' },
      providers: [
        plainHandler(
          'test.held',
          async () => {
            began.resolve();
            await end.promise;
          },
          { timeout: '60s' },
        ),
      ],
    });
    await node.delays.schedule('test.held', null, { after: '1s', key: 'k' });
    const runners = Array.from({ length: poolMax }, () => node.dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    await began.promise;
    const leaseEnd = (): Promise<{ ends: number }[]> =>
      stage.sql(
        `SELECT extract(epoch FROM leased_until)::float8 * 1000 AS ends FROM delay_queue.delay`,
      );
    const [first] = await leaseEnd();
    await until(leaseEnd, ([row]) => row!.ends > first!.ends + 1_000);
    const completed = node.next('completed');
    end.resolve();
    expect(await completed).toMatchObject({ attempt: 1 });
    await Promise.all(runners.map((runner) => runner.release()));
  });
});

describe('transactional handlers', () => {
  it('never take the last connections of the pool', async () => {
    const poolMax = 5;
    const end = signal();
    const seen = { now: 0, most: 0 };
    const run = async (): Promise<void> => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await end.promise;
      seen.now -= 1;
    };
    const node = await stage.start({
      poolMax,
      options: { concurrency: 10 },
      providers: [fencedHandler('test.one', run), fencedHandler('test.two', run)],
    });
    await node.delays.scheduleMany(
      Array.from({ length: 10 }, (_, n) => ({
        name: n % 2 ? 'test.one' : 'test.two',
        payload: n,
        after: 0,
      })),
    );
    await until(
      () => seen.now,
      (now) => now === poolMax - 1,
    );
    // The last one is the application's: a second connection can always be had.
    await node.dataSource.query('SELECT 1');
    const claimed = await stage.sql(
      'SELECT count(*)::int AS count FROM delay_queue.delay WHERE leased_by IS NOT NULL',
    );
    expect(claimed).toEqual([{ count: poolMax - 1 }]);
    end.resolve();
    await stage.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    expect(seen.most).toBe(poolMax - 1);
  });

  it('are refused on a pool of one connection', async () => {
    const error = await refusedStart({
      url: stage.url,
      poolMax: 1,
      providers: [fencedHandler('test.fenced', () => {})],
    });
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(error).toMatchObject({ message: expect.stringMatching(/pool of at least 2/) });
  });

  it('on a pool that cannot hold their concurrency are started with an advice', async () => {
    const lines: string[] = [];
    const note = (line: unknown): void => void lines.push(String(line));
    const providers = [fencedHandler('test.fenced', () => {}, { concurrency: 5 })];
    const app = await NestFactory.createApplicationContext(
      appModule({ url: stage.url, poolMax: 2, providers }),
      { logger: { log: note, warn: note, error: note }, abortOnError: false },
    );
    await app.get(DelayService).schedule('test.fenced', null, { after: 0 });
    await stage.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    await app.close();
    expect(lines.join('\n')).toMatch(/concurrency 5 cannot be reached; the pool of 2 leaves 1/);
  });
});

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
    for (let times = 0; times < 3; times += 1) {
      const node = await stage.start({});
      await node.stop();
      expect(await until(openSessions, (open) => open.length === 0)).toEqual([]);
    }
  });
});
