import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const until = join(tmpdir(), `delay-queue-seized-${randomBytes(5).toString('hex')}`);
const cluster = new Cluster();

afterEach(() => rmSync(until, { force: true }));

const fenced: Served = { does: 'note', fenced: true, timeout: '4s' };

const SERVED = {
  'test.plain': { does: 'freed', timeout: '60s' },
  'test.before': fenced,
  // On a session that ran attempts before, the removal is sent with COMMIT.
  'test.used': { ...fenced, does: 'freed' },
  'test.fresh': { ...fenced, does: 'seize' },
  'test.beside': { does: 'note' },
} as const satisfies Record<string, Served>;

/** They run when the event loop is blocked, and return at once when it is not any more. */
const STUCK = ['test.plain', 'test.used', 'test.fresh'] as const;

it('attempts whose event loop is blocked lose their leases and sessions, their results change nothing, and what fires late says how late', async () => {
  const seized = await cluster.worker('seized', SERVED, { until });
  const { delays } = await cluster.producer();
  for (const key of ['1', '2']) {
    await delays.schedule('test.before', null, { after: 0, key });
    await cluster.quiet();
  }
  for (const name of STUCK) await cluster.held(seized, name);
  await delays.schedule('test.beside', null, { after: 100, key: 'beside' });

  // Others take all of it over while it still blocks: the sessions that held the rows are ended.
  await cluster.worker(
    'heir',
    { 'test.plain': { does: 'note' }, 'test.used': fenced, 'test.fresh': fenced },
    KEEPS_LEASES,
  );
  await cluster.until<{ key: string }>(
    'SELECT key FROM delay_queue.delay',
    (rows) => rows.length === 1 && rows[0]!.key === 'beside',
  );
  const [blocked] = await cluster.sql<{ ms: number }>(
    `SELECT extract(epoch FROM clock_timestamp() - due_at)::float8 * 1000 AS ms
     FROM delay_queue.delay WHERE key = 'beside'`,
  );
  writeFileSync(until, '');
  for (const name of STUCK) {
    await seized.waitFor(({ event, key }) => event === 'lost' && key === name);
  }
  await cluster.quiet();

  for (const name of STUCK) {
    expect(await cluster.ends(name)).toEqual([{ node: 'heir', state: 'completed', attempts: 2 }]);
  }
  const ledger = await cluster.ledger();
  const transactional = ledger.filter(({ name }) => name === 'test.used' || name === 'test.fresh');
  expect(transactional.map(({ node }) => node)).toEqual(['heir', 'heir']);
  const beside = ledger.find(({ key }) => key === 'beside');
  expect(beside?.lateness_ms).toBeGreaterThanOrEqual(blocked!.ms);
});
