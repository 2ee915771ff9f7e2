import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayOutcomeUnknownError, DelayShutdownError } from 'nestjs-delay-queue';
import { type DelayNode, type NodeSetup, plainHandler } from '../../support/delay-node.js';
import { OpenTransactions } from '../../support/open-transactions.js';
import { Stage } from '../engine/support/stage.js';
import { EngineConnections } from '../../support/engine-parts.js';

/** Calls that travel together when their connection is taken, cut or closed. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

let stage: Stage;
const transactions = new OpenTransactions();

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  await transactions.rollbackAll();
  await stage.close({ force: true });
});

/** How many delays there are. */
const rows = async (): Promise<number> => (await stage.sql('SELECT FROM delay_queue.delay')).length;

/** A node that knows, when it has started, whether its sessions are its own: it runs handlers. */
const start = (setup: Omit<NodeSetup, 'url'> = {}): Promise<DelayNode> =>
  stage.start({ ...setup, providers: [plainHandler('test.other', () => {})] });

/** As behind a pooler in transaction mode: the engine has no connections for callers. */
const withoutOwnSessions = (): void =>
  stage.parts.replace(EngineConnections, 'callers', () => undefined);

it('calls do not wait for a pool that is taken when sessions are the own ones', async () => {
  const { delays, dataSource } = await start({ poolMax: 2 });
  for (let taken = 0; taken < 2; taken += 1) await transactions.begin(dataSource);
  const { verdict } = await delays.schedule(NAME, { n: 1 }, { ...FAR, key: 'k' });
  expect(verdict).toBe('scheduled');
  expect(await delays.cancel(NAME, 'k')).toMatchObject({ verdict: 'cancelled' });
});

it('calls that no connection comes free for are rejected by the shutdown, and none begins after it', async () => {
  withoutOwnSessions();
  const node = await start({ poolMax: 2, options: { drainTimeout: 0 } });
  const { delays } = node;
  // Whoever holds them gives them back when TypeORM closes, and not before.
  for (let taken = 0; taken < 2; taken += 1) await node.dataSource.createQueryRunner().connect();
  // In the pool's queue, behind that, and in the line of a key.
  const calls = Array.from({ length: 600 }, (_, n) =>
    delays.schedule(NAME, { n: 1 }, n % 2 === 0 ? { ...FAR, key: 'k' } : FAR),
  );
  const settled = Promise.allSettled(calls);
  const stopped = node.stop();
  for (const result of await settled) {
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(DelayShutdownError);
  }
  await stopped;
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

  it('a connection that is cut fails the calls of its statement, once, and no others; a shutdown answers what was called before', async () => {
    const COUNT = 20;
    const node = await start();
    const { manager, rollback } = await transactions.begin(node.dataSource);
    await manager.query('LOCK TABLE delay_queue.delay IN SHARE MODE');
    const place = (n: number) => node.delays.schedule(NAME, { n }, FAR);
    const together = Array.from({ length: COUNT }, (_, n) => place(n));
    const [blocked] = await stage.until<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0',
      ({ length }) => length > 0,
    );
    const later = Array.from({ length: COUNT }, (_, n) => place(100 + n));
    await stage.sql('SELECT pg_terminate_backend($1)', [blocked?.pid]);
    const reasons = await Promise.all(
      together.map((call) => call.catch((error: unknown) => error)),
    );
    expect(new Set(reasons).size).toBe(COUNT);
    for (const reason of reasons) {
      expect(reason).toBeInstanceOf(DelayOutcomeUnknownError);
      expect(reason).toMatchObject({ cause: { code: '57P01' } });
    }
    await rollback();
    for (const { verdict } of await Promise.all(later)) expect(verdict).toBe('scheduled');
    // Nothing was tried again behind the back of those who have heard of a failure.
    expect(await rows()).toBe(COUNT);

    const last = Array.from({ length: 300 }, (_, n) =>
      node.delays.schedule(NAME, { n }, { ...FAR, key: `k${n % 100}` }),
    );
    await node.stop();
    const answers = await Promise.all(last);
    expect(answers.filter(({ verdict }) => verdict === 'scheduled')).toHaveLength(100);
    expect(await rows()).toBe(COUNT + 100);
  });
});
