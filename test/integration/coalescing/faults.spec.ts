import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayOutcomeUnknownError, DelayShutdownError } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { EngineConnections } from '../../../src/delay-queue/database/engine-connections.js';
import { type DelayNode, type NodeSetup, plainHandler } from '../../support/delay-node.js';
import { OpenTransactions } from '../../support/open-transactions.js';
import { Stage } from '../engine/support/stage.js';

/** Calls that travel together when their connection is taken, cut or closed. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

let stage: Stage;
const transactions = new OpenTransactions();

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await transactions.rollbackAll();
  await stage.close({ force: true });
});

const count = async (): Promise<number> =>
  (await stage.sql<{ rows: number }>('SELECT count(*)::int AS rows FROM delay_queue.delay'))[0]!
    .rows;

/** A node that knows, when it has started, whether its sessions are its own: it runs handlers. */
const start = (setup: Omit<NodeSetup, 'url'> = {}): Promise<DelayNode> =>
  stage.start({ ...setup, providers: [plainHandler('test.other', () => {})] });

/** As behind a pooler in transaction mode: the engine has no connections for callers. */
const withoutOwnSessions = (): void =>
  void jest.spyOn(EngineConnections.prototype, 'callers', 'get').mockReturnValue(undefined);

it('calls do not wait for a pool that is taken when sessions are the own ones', async () => {
  const POOL = 3;
  const { delays, dataSource } = await start({ poolMax: POOL });
  await Promise.all(Array.from({ length: POOL }, () => transactions.begin(dataSource)));
  expect(await delays.schedule(NAME, { n: 1 }, { ...FAR, key: 'k' })).toMatchObject({
    verdict: 'scheduled',
  });
  expect(await delays.reschedule(NAME, 'k', FAR)).toMatchObject({ verdict: 'rescheduled' });
  expect(await delays.cancel(NAME, 'k')).toMatchObject({ verdict: 'cancelled' });
});

it('calls that no connection comes free for are rejected by the shutdown, not forgotten', async () => {
  withoutOwnSessions();
  const node = await start({ poolMax: 2, options: { drainTimeout: 0 } });
  // Whoever holds them gives them back when TypeORM closes, and not before.
  for (const runner of [node.dataSource.createQueryRunner(), node.dataSource.createQueryRunner()]) {
    await runner.connect();
  }
  const place = (key?: string) =>
    node.delays.schedule(NAME, { n: 1 }, { ...FAR, ...(key ? { key } : {}) });
  // In the pool's queue, behind that, and in the line of a key.
  const calls = Array.from({ length: 600 }, (_, n) => place(n % 2 === 0 ? 'k' : undefined));
  const settled = Promise.allSettled(calls);
  const stopped = node.stop();
  for (const result of await settled) {
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(DelayShutdownError);
  }
  await stopped;
});

it('no call begins once the application has shut down', async () => {
  const node = await start();
  const { delays } = node;
  await node.stop();
  const slot = [NAME, 'k'] as const;
  for (const call of [
    delays.schedule(NAME, { n: 1 }, FAR),
    delays.scheduleMany([{ name: NAME, payload: { n: 1 }, ...FAR }]),
    delays.cancel(...slot),
    delays.reschedule(...slot, FAR),
    delays.find(...slot),
    delays.history(...slot),
    delays.retryDead(...slot),
  ]) {
    await expect(call).rejects.toThrow(DelayShutdownError);
  }
});

it('nobody else finds the time limit of a batch on his connection', async () => {
  withoutOwnSessions();
  const { delays, dataSource } = await start({ poolMax: 1 });
  const before: unknown = await dataSource.query('SHOW lock_timeout');
  await Promise.all(['a', 'b'].map((key) => delays.schedule(NAME, { n: 1 }, { ...FAR, key })));
  expect(await dataSource.query('SHOW lock_timeout')).toEqual(before);
});

describe.each(['sessions of its own', 'the pool of the application'])('on %s', (where) => {
  beforeEach(() => {
    if (where === 'the pool of the application') withoutOwnSessions();
  });

  it('a connection that is cut fails the calls of its statement, once, and no others', async () => {
    const { delays } = await start({});
    const lock = new Client({ connectionString: stage.url });
    await lock.connect();
    await lock.query('BEGIN; LOCK TABLE delay_queue.delay IN SHARE MODE');
    const place = (n: number) => delays.schedule(NAME, { n }, FAR);
    const together = Array.from({ length: 20 }, (_, n) => place(n));
    const [blocked] = await stage.until<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0',
      (rows) => rows.length > 0,
    );
    const later = Array.from({ length: 20 }, (_, n) => place(100 + n));
    await stage.sql('SELECT pg_terminate_backend($1)', [blocked?.pid]);
    const reasons = await Promise.all(
      together.map((call) => call.catch((error: unknown) => error)),
    );
    expect(new Set(reasons).size).toBe(20);
    for (const reason of reasons) {
      expect(reason).toBeInstanceOf(DelayOutcomeUnknownError);
      expect(reason).toMatchObject({ cause: { code: '57P01' } });
    }
    await lock.query('ROLLBACK');
    await lock.end();
    for (const { verdict } of await Promise.all(later)) expect(verdict).toBe('scheduled');
    // Nothing was tried again behind the back of those who have heard of a failure.
    expect(await count()).toBe(20);
  });

  it('calls that were made before a shutdown are answered', async () => {
    const node = await start({ poolMax: 2 });
    const calls = Array.from({ length: 300 }, (_, n) =>
      node.delays.schedule(NAME, { n }, { ...FAR, key: `k${n % 100}` }),
    );
    await node.stop();
    const answers = await Promise.all(calls);
    expect(answers.filter(({ verdict }) => verdict === 'scheduled')).toHaveLength(100);
    expect(await count()).toBe(100);
  });
});
