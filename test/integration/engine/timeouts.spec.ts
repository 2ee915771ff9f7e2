import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayTimeoutError, DelayTransactionOverError } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

let stage: Stage;
let unhandled: unknown[];
const onUnhandled = (error: unknown): void => void unhandled.push(error);

beforeEach(async () => {
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
  stage = await Stage.open();
});

afterEach(async () => {
  await stage.close();
  process.off('unhandledRejection', onUnhandled);
  // What nobody handled fails whichever test it belongs to.
  if (unhandled.length > 0) throw unhandled[0];
});

describe('a plain handler that outlives its timeout', () => {
  it.each(['resolves', 'rejects'] as const)(
    'fails the attempt and frees its slot; that it %s later counts no more',
    async (ends) => {
      const late = signal();
      const runs: { key: string | null; attempt: number; signal: AbortSignal }[] = [];
      const node = await stage.start({
        providers: [
          plainHandler(
            'test.slow',
            ({ key, attempt }, ctx) => {
              runs.push({ key, attempt, signal: ctx.signal });
              return key === 'slow' ? late.promise : undefined;
            },
            // Far more than the test lasts: the retry must not come while it looks.
            { concurrency: 1, timeout: 50, backoff: () => 3_600_000 },
          ),
        ],
      });
      const retrying = node.next('retrying');
      const lingering = node.next('lingering');
      await node.delays.schedule('test.slow', null, { after: 0, key: 'slow' });
      expect(await retrying).toMatchObject({ key: 'slow', attempt: 1 });
      expect(await lingering).toMatchObject({ key: 'slow', lingering: 1 });
      expect(runs[0]?.signal.reason).toBeInstanceOf(DelayTimeoutError);

      // Its only slot is free although the handler still runs.
      const other = node.next('completed');
      await node.delays.schedule('test.slow', null, { after: 0, key: 'other' });
      expect(await other).toMatchObject({ key: 'other' });

      const before = await stage.sql(`SELECT * FROM delay_queue.delay WHERE key = 'slow'`);
      if (ends === 'resolves') late.resolve();
      else late.reject(new Error('late'));
      const next = node.next('completed');
      await node.delays.schedule('test.slow', null, { after: 0, key: 'next' });
      await next;
      expect(await stage.sql(`SELECT * FROM delay_queue.delay WHERE key = 'slow'`)).toEqual(before);
      expect(before).toMatchObject([
        { attempts: 1, leased_by: null, last_error: expect.stringContaining('DelayTimeoutError') },
      ]);
    },
  );
});

describe('a transactional handler that never returns', () => {
  it('loses its session at the timeout: its locks are free, its writes gone', async () => {
    const node = await stage.start({
      providers: [
        fencedHandler(
          'test.stuck',
          async (_delay, { manager }) => {
            await manager.query('UPDATE effect SET n = n + 1');
            await new Promise(() => {});
          },
          { timeout: 200, maxAttempts: 1 },
        ),
      ],
    });
    await stage.sql('CREATE TABLE effect AS SELECT 0 AS n');
    const dead = node.next('dead');
    await node.delays.schedule('test.stuck', null, { after: 0, key: 'k' });
    expect(await dead).toMatchObject({ error: expect.stringContaining('DelayTimeoutError') });
    expect(await stage.sql('SELECT n FROM effect FOR UPDATE NOWAIT')).toEqual([{ n: 0 }]);
    expect(await node.delays.retryDead('test.stuck', 'k')).toMatchObject({ verdict: 'retried' });
  });

  it('gives its connection back to the pool, however often it happens', async () => {
    const poolMax = 3;
    const node = await stage.start({
      poolMax,
      providers: [
        fencedHandler('test.stuck', () => new Promise(() => {}), { timeout: 50, maxAttempts: 1 }),
      ],
    });
    const keys = Array.from({ length: poolMax * 3 }, (_, n) => `k${n}`);
    const dead = keys.map((key) => node.next('dead', (event) => event.key === key));
    for (const key of keys) await node.delays.schedule('test.stuck', null, { after: 0, key });
    await Promise.all(dead);
    // All connections of the pool at once.
    const runners = keys.slice(0, poolMax).map(() => node.dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    const pids = await Promise.all(runners.map((each) => each.query('SELECT pg_backend_pid()')));
    expect(new Set(pids.map(([row]) => row.pg_backend_pid)).size).toBe(poolMax);
    await Promise.all(runners.map((runner) => runner.release()));
  });

  it('cannot commit what it does after its timeout', async () => {
    const late = signal();
    const result = signal<unknown>();
    const node = await stage.start({
      providers: [
        fencedHandler(
          'test.late',
          async (_delay, { manager }) => {
            await late.promise;
            await manager
              .query('INSERT INTO effect VALUES (1)')
              .then(result.resolve, result.reject);
          },
          { timeout: 100, maxAttempts: 1 },
        ),
      ],
    });
    await stage.sql('CREATE TABLE effect (n int)');
    const dead = node.next('dead');
    await node.delays.schedule('test.late', null, { after: 0, key: 'k' });
    await dead;
    late.resolve();
    await expect(result.promise).rejects.toBeInstanceOf(DelayTransactionOverError);
    expect(await stage.sql('SELECT n FROM effect')).toEqual([]);
  });
});
