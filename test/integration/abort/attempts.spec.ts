import { describe, expect, it } from '@jest/globals';
import { DelayAbortedError, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { NAMES } from '../../support/acting-node.js';
import { occupyAttempts } from '../../support/attempt-sessions.js';
import { signal } from '../../support/delay-node.js';
import { OF_THIS_DATABASE } from '../../support/of-this-database.js';
import { ABORT, aborted, BRIEFLY, giveUp, KEY, SHORT, TwoNodes } from './support/two-nodes.js';

const POOL = 5;
const two = new TwoNodes({ poolMax: POOL });

const cancelPlain = (how: typeof ABORT | typeof BRIEFLY) =>
  two.asks.delays.cancel(NAMES.plain, KEY, how);

const cancelFenced = (by: 'asks' | 'runs' = 'asks') =>
  two[by].delays.cancel(NAMES.transactional, KEY, ABORT);

async function isCancelled(calls = 1): Promise<void> {
  expect(await two.effects()).toEqual([]);
  expect(await two.ends('transactional')).toEqual(['cancelled']);
  expect(await two.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
  expect(await two.toldOf(1)).toEqual([['aborted', KEY]]);
  expect(two.calls).toHaveLength(calls);
}

describe('a transactional attempt', () => {
  it('that waits for a connection is cancelled: its handler is not called', async () => {
    const release = await occupyAttempts(two.runs, POOL);
    await two.schedule('transactional', KEY);
    await two.until('SELECT 1 FROM delay_queue.delay WHERE leased_by IS NOT NULL');
    expect(await cancelFenced()).toMatchObject({ verdict: 'cancelled' });
    release();
    await isCancelled(0);
  });

  it.each([
    ['between its connection and its handler, which is not called', 'session', 0],
    ['when its handler has returned, and its removal and COMMIT are not sent', 'remove', 1],
  ] as const)('is cancelled %s', async (_, method, calls) => {
    const { reached, goOn } = two.hold(method);
    two.does(() => {});
    await two.schedule('transactional', KEY);
    await reached.promise;
    const asked = two.asked();
    const cancelled = cancelFenced();
    await asked;
    goOn.resolve();
    expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
    await isCancelled(calls);
  });

  it.each(['asks', 'runs'] as const)(
    'is cancelled in its handler by the node that %s: the signal aborts, and what it did is rolled back',
    async (by) => {
      const reason = signal<unknown>();
      await two.begin('transactional', async (ctx) => {
        await aborted(ctx);
        reason.resolve(ctx.signal.reason);
      });
      expect(await cancelFenced(by)).toMatchObject({ verdict: 'cancelled' });
      expect(await reason.promise).toBeInstanceOf(DelayAbortedError);
      await isCancelled();
    },
  );

  it('is cancelled although its handler never ends, and although that waits for the caller', async () => {
    const { dataSource, delays } = two.asks;
    const cancelled = await dataSource.transaction(async (manager) => {
      await manager.query('LOCK TABLE effect IN ROW EXCLUSIVE MODE');
      await two.begin('transactional', (ctx) => ctx.manager!.query('LOCK TABLE effect'));
      await two.until(
        `SELECT 1 FROM pg_locks
         WHERE NOT granted AND relation = 'effect'::regclass AND ${OF_THIS_DATABASE}`,
      );
      return delays.cancel(NAMES.transactional, KEY, { ...ABORT, manager });
    });
    expect(cancelled).toMatchObject({ verdict: 'cancelled' });
    await isCancelled();
  });

  it('is absent when COMMIT was sent before: the server has decided', async () => {
    await two.sql(
      `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON effect
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`,
    );
    const holder = two.asks.dataSource.createQueryRunner();
    await holder.query('SELECT pg_advisory_lock(42)');
    two.does(() => {});
    await two.schedule('transactional', KEY);
    await two.until(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE '%COMMIT' AND wait_event_type = 'Lock'`,
    );
    const asked = two.asked();
    const cancelled = cancelFenced();
    await asked;
    await holder.query('SELECT pg_advisory_unlock(42)');
    await holder.release();
    expect(await cancelled).toEqual({ verdict: 'absent' });
    await two.sql('DROP TRIGGER waits ON effect');
    expect(await two.effects()).toEqual([KEY]);
    expect(await two.ends('transactional')).toEqual(['completed']);
    expect(await two.toldOf(1)).toEqual([['completed', KEY]]);
  });
});

describe('a plain attempt', () => {
  it('that gives up is cancelled, when it has ended', async () => {
    let hasEnded = false;
    await two.begin('plain', (ctx) =>
      giveUp(ctx).finally(() => {
        hasEnded = true;
      }),
    );
    expect(await cancelPlain(ABORT)).toMatchObject({ verdict: 'cancelled' });
    expect(hasEnded).toBe(true);
    expect(await two.ends('plain')).toEqual(['cancelled']);
    expect(await two.toldOf(1)).toEqual([['aborted', KEY]]);
  });

  it.each([
    ['PostponeDelay', new PostponeDelay('1h'), 'cancelled'],
    ['DiscardDelay', new DiscardDelay('not wanted'), 'discarded'],
  ] as const)('that gives up with %s is cancelled', async (_, thrown, end) => {
    await two.begin('plain', async (ctx) => {
      await aborted(ctx);
      throw thrown;
    });
    expect(await cancelPlain(ABORT)).toMatchObject({ verdict: 'cancelled' });
    expect(await two.ends('plain')).toEqual([end]);
  });

  it('that ends its work all the same is absent: nothing is taken back from it', async () => {
    await two.begin('plain', aborted);
    expect(await cancelPlain(ABORT)).toEqual({ verdict: 'absent' });
    expect(await two.effects()).toEqual([KEY]);
    expect(await two.toldOf(1)).toEqual([['completed', KEY]]);
  });

  it('that does not heed its signal is running, and goes on as if nobody had asked', async () => {
    const goOn = signal();
    await two.begin('plain', () => goOn.promise);
    const completed = two.runs.next('completed');
    expect(await cancelPlain(BRIEFLY)).toMatchObject({ verdict: 'running' });
    const found = await two.asks.delays.find(NAMES.plain, KEY);
    expect(found).toMatchObject({ state: 'running', attempts: 1 });
    goOn.resolve();
    expect(await completed).toMatchObject({ attempt: 1 });
    expect(await two.ends('plain')).toEqual(['completed']);
  });

  it('that gives up when nobody waits any more runs again, and has spent no attempt', async () => {
    const goOn = signal();
    await two.begin('plain', async (_, __, call) => {
      if (call > 1) return;
      await goOn.promise;
      throw new Error('too late');
    });
    expect(await cancelPlain(BRIEFLY)).toMatchObject({ verdict: 'running' });
    goOn.resolve();
    expect((await two.toldOf(2)).map(([event]) => event)).toEqual(['aborted', 'completed']);
    expect(two.calls.map(([, attempts]) => attempts)).toEqual([[1], [1]]);
  });

  it('that was aborted and outlives its timeout has failed as usual', async () => {
    const never = signal();
    two.does(() => never.promise);
    const [started, dead] = [two.runs.next('started'), two.runs.next('dead')];
    await two.asks.delays.schedule(SHORT, null, { after: 0, key: KEY });
    await started;
    const cancelled = await two.asks.delays.cancel(SHORT, KEY, BRIEFLY);
    expect(cancelled).toMatchObject({ verdict: 'running' });
    expect(await dead).toMatchObject({ error: expect.stringContaining('DelayTimeoutError') });
    never.resolve();
  });
});
