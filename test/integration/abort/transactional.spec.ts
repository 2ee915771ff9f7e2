import { describe, expect, it } from '@jest/globals';
import { DelayAbortedError, type TransactionalDelayContext } from 'nestjs-delay-queue';
import { fencedHandler, signal } from '../../support/delay-node.js';
import { ABORT, hasRows, TwoNodes } from './support/two-nodes.js';

const NAME = 'test.fenced';
const KEY = 'k';
const INSERT = 'INSERT INTO effect VALUES ($1)';

const two = new TwoNodes();

/** Effects first, so that there is something to lose. */
const insert = ({ manager }: TransactionalDelayContext): Promise<unknown> =>
  manager.query(INSERT, [KEY]);

const schedule = () => two.runs.delays.schedule(NAME, null, { after: 0, key: KEY });

async function isCancelled(): Promise<void> {
  expect(await two.effects()).toEqual([]);
  expect(await two.ends(NAME, KEY)).toEqual(['cancelled']);
  expect(await two.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
  expect(await two.toldOf(1)).toEqual([['aborted', KEY]]);
}

/** From the other node, or from the one that runs it. */
describe.each(['asks', 'runs'] as const)('a transactional attempt, and the node that %s', (by) => {
  const cancel = () => two[by].delays.cancel(NAME, KEY, ABORT);

  it('is cancelled between its fence and its handler, which is not called', async () => {
    let calls = 0;
    await two.start([fencedHandler(NAME, () => void (calls += 1))]);
    const { reached, goOn } = two.hold('fence');
    await schedule();
    await reached.promise;
    const asked = two.asked();
    const cancelled = cancel();
    await asked;
    goOn.resolve();
    expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
    await isCancelled();
    expect(calls).toBe(0);
  });

  it('is cancelled in its handler: the signal aborts, and what it did is rolled back', async () => {
    const [begun, reason] = [signal(), signal<unknown>()];
    await two.start([
      fencedHandler(NAME, async (_, ctx) => {
        ctx.signal.addEventListener('abort', () => reason.resolve(ctx.signal.reason));
        await insert(ctx);
        begun.resolve();
        await reason.promise;
      }),
    ]);
    await schedule();
    await begun.promise;
    expect(await cancel()).toMatchObject({ verdict: 'cancelled' });
    expect(await reason.promise).toBeInstanceOf(DelayAbortedError);
    await isCancelled();
  });

  it('is cancelled although its handler never ends, and although that waits for the caller', async () => {
    const begun = signal();
    await two.start([
      fencedHandler(NAME, async (_, ctx) => {
        await insert(ctx);
        begun.resolve();
        await ctx.manager.query('LOCK TABLE effect');
      }),
    ]);
    const cancelled = await two[by].dataSource.transaction(async (manager) => {
      await manager.query('LOCK TABLE effect IN ROW EXCLUSIVE MODE');
      await schedule();
      await begun.promise;
      await two.until(
        `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'effect'::regclass`,
        hasRows,
      );
      return two[by].delays.cancel(NAME, KEY, { ...ABORT, manager });
    });
    expect(cancelled).toMatchObject({ verdict: 'cancelled' });
    await isCancelled();
  });

  it('is cancelled when its handler has returned, and its removal and COMMIT are not sent', async () => {
    await two.start([fencedHandler(NAME, async (_, ctx) => void (await insert(ctx)))]);
    const { reached, goOn } = two.hold('complete');
    await schedule();
    await reached.promise;
    const asked = two.asked();
    const cancelled = cancel();
    await asked;
    goOn.resolve();
    expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
    await isCancelled();
  });

  it('is absent when COMMIT was sent before: the server has decided', async () => {
    await two.start([fencedHandler(NAME, async (_, ctx) => void (await insert(ctx)))]);
    await two.sql(
      `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON effect
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`,
    );
    const holder = two.asks.dataSource.createQueryRunner();
    await holder.query('SELECT pg_advisory_lock(42)');
    await schedule();
    await two.until(
      `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%COMMIT' AND wait_event_type = 'Lock'`,
      hasRows,
    );
    const asked = two.asked();
    const cancelled = cancel();
    await asked;
    await holder.query('SELECT pg_advisory_unlock(42)');
    await holder.release();
    expect(await cancelled).toEqual({ verdict: 'absent' });
    expect(await two.effects()).toEqual([KEY]);
    expect(await two.ends(NAME, KEY)).toEqual(['completed']);
    expect(await two.toldOf(1)).toEqual([['completed', KEY]]);
  });

  it('is absent when it has committed', async () => {
    await two.start([fencedHandler(NAME, async (_, ctx) => void (await insert(ctx)))]);
    const completed = two.runs.next('completed');
    await schedule();
    await completed;
    expect(await cancel()).toEqual({ verdict: 'absent' });
    expect(await two.effects()).toEqual([KEY]);
  });
});

it('a transactional attempt that waits for a connection is cancelled: its handler is not called', async () => {
  let calls = 0;
  await two.start([fencedHandler(NAME, () => void (calls += 1))], {}, 3);
  const held = Array.from({ length: 3 }, () => two.runs.dataSource.createQueryRunner());
  await Promise.all(held.map((runner) => runner.connect()));
  await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
  await two.until('SELECT 1 FROM delay_queue.delay WHERE leased_by IS NOT NULL', hasRows);
  expect(await two.asks.delays.cancel(NAME, KEY, ABORT)).toMatchObject({ verdict: 'cancelled' });
  await Promise.all(held.map((runner) => runner.release()));
  expect(await two.toldOf(1)).toEqual([['aborted', KEY]]);
  expect(calls).toBe(0);
});
