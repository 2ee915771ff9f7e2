import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';
import { IS_LISTENER } from '../support/listener.js';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

const held: Served = { does: 'hold', concurrency: 10, timeout: '60s' };

const rows = () =>
  cluster.sql<{ key: string; attempts: number; leased_by: string | null }>(
    'SELECT key, attempts, leased_by FROM delay_queue.delay ORDER BY key',
  );

describe('SIGTERM', () => {
  it('lets handlers in flight end, and gives back at once those that do not, attempts as before', async () => {
    const leaving = await cluster.worker('leaving', {
      serves: {
        'test.cooperative': held,
        'test.stubborn': { ...held, stubborn: true },
        'test.fenced': { ...held, stubborn: true, fenced: true },
      },
      // A lease that would hold the rows back for a minute, were they not released.
      options: { lease: '60s', drainTimeout: '500ms' },
    });
    const { delays } = await cluster.producer();
    for (const name of ['test.cooperative', 'test.stubborn', 'test.fenced'] as const) {
      await delays.schedule(name, null, { after: 0, key: name });
      await leaving.waitFor(({ holding }) => holding === name);
    }
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await rows()).toEqual([
      { key: 'test.cooperative', attempts: 0, leased_by: null },
      { key: 'test.fenced', attempts: 0, leased_by: null },
      { key: 'test.stubborn', attempts: 0, leased_by: null },
    ]);
    expect(await cluster.sql('SELECT id FROM delay_queue.node')).toHaveLength(0);

    const note: Served = { does: 'note' };
    const heir = await cluster.worker('heir', {
      serves: {
        'test.cooperative': note,
        'test.stubborn': note,
        'test.fenced': { ...note, fenced: true },
      },
    });
    await cluster.quiet();
    const ledger = await cluster.ledger();
    expect(ledger.map(({ node, attempt }) => ({ node, attempt }))).toEqual(
      Array.from({ length: 3 }, () => ({ node: 'heir', attempt: 1 })),
    );
    expect(await heir.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('waits for a handler that ends in time, although it is sent twice', async () => {
    const leaving = await cluster.worker('leaving', {
      serves: { 'test.slow': { ...held, stubborn: true } },
      options: { drainTimeout: '60s' },
    });
    const { delays } = await cluster.producer();
    await delays.schedule('test.slow', null, { after: 0, key: 'k' });
    await leaving.waitFor(({ holding }) => holding === 'k');
    const exit = leaving.kill('SIGTERM');
    await leaving.waitFor(({ aborted }) => aborted === 'k');
    void leaving.kill('SIGTERM');
    // Nothing new is taken while it drains.
    await delays.schedule('test.slow', null, { after: 0, key: 'later' });
    leaving.send({ go: 'k' });
    expect(await exit).toEqual({ code: 0, signal: null });
    expect((await cluster.ledger()).map(({ key }) => key)).toEqual(['k']);
    expect(await rows()).toEqual([{ key: 'later', attempts: 0, leased_by: null }]);
  });

  it('during a claim: what the claim brings is given back without an attempt', async () => {
    const leaving = await cluster.worker('leaving', {
      serves: { 'test.held': held },
      options: { lease: '60s' },
    });
    const { delays } = await cluster.producer();
    // The claim is on its way and cannot end: its table is locked.
    const locker = await cluster.session();
    await locker.query('BEGIN');
    await delays.schedule('test.held', null, { after: 300, key: 'k' });
    await locker.query('LOCK TABLE delay_queue.delay IN SHARE MODE');
    await leaving.waitFor(({ claiming }) => claiming !== undefined);
    const exit = leaving.kill('SIGTERM');
    await cluster.until<{ waits: number }>(
      `SELECT count(*)::int AS waits FROM pg_locks
       WHERE NOT granted AND mode = 'RowExclusiveLock'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      ([row]) => row!.waits > 0,
    );
    // The drain has begun once the listener is gone.
    await cluster.until<{ listeners: number }>(
      `SELECT count(*)::int AS listeners FROM pg_stat_activity
       WHERE application_name LIKE 'delay-queue leaving%' AND ${IS_LISTENER}
         AND datname = current_database()`,
      ([row]) => row?.listeners === 0,
    );
    await locker.query('COMMIT');
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(await rows()).toEqual([{ key: 'k', attempts: 0, leased_by: null }]);
    expect(leaving.messages.filter(({ holding }) => holding)).toEqual([]);
  });
});
