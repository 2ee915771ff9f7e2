import { expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';
import { IS_LISTENER } from '../support/listener.js';
import { OF_THIS_DATABASE } from '../support/of-this-database.js';

const cluster = new Cluster();

const held: Served = { does: 'hold', concurrency: 10, timeout: '60s' };

const rows = () =>
  cluster.sql<{ key: string; attempts: number; leased_by: string | null }>(
    'SELECT key, attempts, leased_by FROM delay_queue.delay ORDER BY key',
  );

/** A claim of that key is on its way, and does not end before the answered session lets go of lock 1. */
async function holdClaimsOf(key: string): Promise<Client> {
  await cluster.sql(`
    CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(1);
      RETURN NEW;
    END $$;
    CREATE TRIGGER wait_for_test BEFORE UPDATE ON delay_queue.delay FOR EACH ROW
    WHEN (NEW.key = '${key}' AND OLD.leased_by IS NULL AND NEW.leased_by IS NOT NULL)
    EXECUTE FUNCTION wait_for_test()`);
  const session = await cluster.session();
  await session.query('SELECT pg_advisory_lock(1)');
  return session;
}

it('SIGTERM twice, during a claim, with handlers in flight: all of it is given back, no attempt is spent', async () => {
  const leaving = await cluster.worker(
    'leaving',
    {
      'test.plain': held,
      'test.stubborn': { ...held, stubborn: true },
      'test.fenced': { ...held, stubborn: true, fenced: true },
      'test.claimed': held,
    },
    // A lease that would hold the rows back for a minute, were they not released.
    { options: { lease: '60s', drainTimeout: '500ms' } },
  );
  const { delays } = await cluster.producer();
  for (const name of ['test.plain', 'test.stubborn', 'test.fenced'] as const) {
    await cluster.held(leaving, name);
  }
  const locker = await holdClaimsOf('test.claimed');
  await delays.schedule('test.claimed', null, { after: 0, key: 'test.claimed' });
  await cluster.until<{ waits: number }>(
    `SELECT count(*)::int AS waits FROM pg_locks
     WHERE locktype = 'advisory' AND NOT granted AND ${OF_THIS_DATABASE}`,
    ([row]) => row?.waits === 1,
  );
  const exit = leaving.kill('SIGTERM');
  void leaving.kill('SIGTERM');
  // The drain has begun once the listener is gone.
  await cluster.until<{ listeners: number }>(
    `SELECT count(*)::int AS listeners FROM pg_stat_activity
     WHERE application_name LIKE 'delay-queue leaving%' AND ${IS_LISTENER}
       AND datname = current_database()`,
    ([row]) => row?.listeners === 0,
  );
  await locker.query('SELECT pg_advisory_unlock(1)');
  expect(await exit).toEqual({ code: 0, signal: null });

  expect(await rows()).toEqual(
    ['test.claimed', 'test.fenced', 'test.plain', 'test.stubborn'].map((key) => ({
      key,
      attempts: 0,
      leased_by: null,
    })),
  );
  expect(await cluster.sql('SELECT id FROM delay_queue.node')).toEqual([]);
  expect(leaving.messages.filter(({ holding }) => holding === 'test.claimed')).toEqual([]);
  expect(await cluster.ledger()).toEqual([]);
});

it('SIGTERM waits for a handler that ends in time, although it is sent twice', async () => {
  const serves = { 'test.slow': { ...held, stubborn: true } };
  const leaving = await cluster.worker('leaving', serves, { options: { drainTimeout: '60s' } });
  const { delays } = await cluster.producer();
  await cluster.held(leaving, 'test.slow');
  const exit = leaving.kill('SIGTERM');
  await leaving.waitFor(({ aborted }) => aborted === 'test.slow');
  void leaving.kill('SIGTERM');
  // Nothing new is taken while it drains.
  await delays.schedule('test.slow', null, { after: 0, key: 'later' });
  leaving.send({ go: 'test.slow' });
  expect(await exit).toEqual({ code: 0, signal: null });
  expect((await cluster.ledger()).map(({ key }) => key)).toEqual(['test.slow']);
  expect(await rows()).toEqual([{ key: 'later', attempts: 0, leased_by: null }]);
});
