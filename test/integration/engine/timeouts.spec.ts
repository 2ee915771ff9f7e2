import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayTimeoutError } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';

let unhandled: unknown[];
const onUnhandled = (error: unknown): void => void unhandled.push(error);

beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
});

const stage = stageOfEach({ tables: 'CREATE TABLE effect AS SELECT 0 AS n' });

afterEach(() => {
  process.off('unhandledRejection', onUnhandled);
  // What nobody handled fails whichever test it belongs to.
  if (unhandled.length > 0) throw unhandled[0];
});

it('a plain handler that outlives its timeout fails its attempt and frees its slot; how it ends later counts no more', async () => {
  const late = { resolves: signal(), rejects: signal() };
  const reasons: unknown[] = [];
  const node = await stage.start({
    providers: [
      plainHandler(
        'test.slow',
        ({ key }, ctx) => {
          if (key !== 'resolves' && key !== 'rejects') return undefined;
          ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason));
          return late[key].promise;
        },
        // Far more than the test lasts: the retry must not come while it looks.
        { concurrency: 1, timeout: 50, backoff: () => 3_600_000 },
      ),
    ],
  });
  const lost: string[] = [];
  node.events.on('lost', ({ key }) => lost.push(String(key)));
  /** Its only slot is free although those handlers still run. */
  const another = async (key: string): Promise<void> => {
    const completed = node.next('completed');
    await node.delays.schedule('test.slow', null, { after: 0, key });
    expect(await completed).toMatchObject({ key });
  };
  for (const [at, key] of Object.keys(late).entries()) {
    const retrying = node.next('retrying');
    const overrunning = node.next('overrunning');
    await node.delays.schedule('test.slow', null, { after: 0, key });
    expect(await retrying).toMatchObject({ key, attempt: 1 });
    expect(await overrunning).toMatchObject({ key, overrunning: at + 1 });
  }
  const timeout = expect.any(DelayTimeoutError);
  expect(reasons).toEqual([timeout, timeout]);
  await another('meanwhile');

  const ROWS = 'SELECT * FROM delay_queue.delay ORDER BY id';
  const before = await stage.sql(ROWS);
  late.resolves.resolve();
  late.rejects.reject(new Error('late'));
  await another('afterwards');
  expect(await stage.sql(ROWS)).toEqual(before);
  expect(lost).toEqual([]);
  const failed = { attempts: 1, leased_by: null, last_error: expect.stringContaining('Timeout') };
  expect(before).toMatchObject([failed, failed]);
});

describe('a transactional handler that never returns', () => {
  it('loses its session at the timeout: its locks are free, its writes gone', async () => {
    const handler = fencedHandler(
      'test.stuck',
      async (_delay, { manager }) => {
        await manager.query('UPDATE effect SET n = n + 1');
        await new Promise(() => {});
      },
      { timeout: 200, maxAttempts: 1 },
    );
    const node = await stage.start({ providers: [handler] });
    const dead = node.next('dead');
    const overrunning = node.next('overrunning');
    await node.delays.schedule('test.stuck', null, { after: 0, key: 'k' });
    expect(await dead).toMatchObject({ error: expect.stringContaining('DelayTimeoutError') });
    expect(await overrunning).toMatchObject({ overrunning: 1 });
    // The server ends the session once it gets to it: this waits for the lock.
    expect(await stage.sql('SELECT n FROM effect FOR UPDATE')).toEqual([{ n: 0 }]);
    expect(await node.delays.retryDead('test.stuck', 'k')).toMatchObject({ verdict: 'retried' });
  });

  it('gives its connection back to the pool, however often it happens', async () => {
    const poolMax = 3;
    const options = { timeout: 50, maxAttempts: 1 };
    const handler = fencedHandler('test.stuck', () => new Promise(() => {}), options);
    const node = await stage.start({ poolMax, providers: [handler] });
    const keys = Array.from({ length: poolMax * 2 }, (_, n) => `k${n}`);
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
});
