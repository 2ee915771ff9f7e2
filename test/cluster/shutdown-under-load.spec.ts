import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { randomOf } from '../../src/random.js';
import { Cluster, type Worker } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';
import { IS_LISTENER } from '../support/listener.js';

/** Enough to last for all deploys. */
const DEPLOYED = 1_200;

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

const held: Served = { does: 'hold', concurrency: 10, timeout: '60s' };
const note: Served = { does: 'note', concurrency: 5 };

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
  const leaving = await cluster.worker('leaving', {
    serves: {
      'test.plain': held,
      'test.stubborn': { ...held, stubborn: true },
      'test.fenced': { ...held, stubborn: true, fenced: true },
      'test.claimed': held,
    },
    // A lease that would hold the rows back for a minute, were they not released.
    options: { lease: '60s', drainTimeout: '500ms' },
  });
  const { delays } = await cluster.producer();
  for (const name of ['test.plain', 'test.stubborn', 'test.fenced'] as const) {
    await delays.schedule(name, null, { after: 0, key: name });
    await leaving.waitFor(({ holding }) => holding === name);
  }
  const locker = await holdClaimsOf('test.claimed');
  await delays.schedule('test.claimed', null, { after: 0, key: 'test.claimed' });
  await cluster.until<{ waits: number }>(
    `SELECT count(*)::int AS waits FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
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

  const rows = await cluster.sql(
    'SELECT key, attempts, leased_by FROM delay_queue.delay ORDER BY key',
  );
  expect(rows).toEqual(
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

it('one process after another is sent SIGTERM at some moment under load: each delay runs once, by its first attempt', async () => {
  const random = randomOf('deploys');
  const names = ['test.plain', 'test.fenced'] as const;
  const { delays } = await cluster.producer();
  await delays.scheduleMany(
    Array.from({ length: DEPLOYED }, (_, n) => ({
      name: names[n % 2]!,
      payload: null,
      key: `k${n}`,
      after: n,
    })),
  );
  const next = (nodeName: string): Promise<Worker> =>
    cluster.worker(nodeName, {
      serves: { 'test.plain': note, 'test.fenced': { ...note, fenced: true } },
      options: { lease: '60s', timeout: '60s' },
    });
  for (let deploy = 1; deploy <= 5; deploy += 1) {
    const worker = await next(`n${deploy}`);
    // The moment is left to chance; that each process is in the middle of something is not.
    await cluster.until(`SELECT FROM ledger WHERE node = $1`, (rows) => rows.length > 0, [
      worker.nodeName,
    ]);
    await pause(random.integer(0, 100));
    expect(await cluster.sql('SELECT FROM delay_queue.delay LIMIT 1')).toHaveLength(1);
    const exit = worker.kill('SIGTERM');
    void worker.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
  }
  await next('last');
  await cluster.quiet();
  expect(
    await cluster.sql(
      `SELECT state, attempts, count(*)::int AS count FROM delay_queue.history GROUP BY 1, 2`,
    ),
  ).toEqual([{ state: 'completed', attempts: 1, count: DEPLOYED }]);
  expect(
    await cluster.sql(
      'SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM ledger',
    ),
  ).toEqual([{ lines: DEPLOYED, keys: DEPLOYED }]);
});
