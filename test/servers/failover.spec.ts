import { afterEach, describe, expect, it } from '@jest/globals';
import { DelayConfigError } from 'nestjs-delay-queue';
import { refusedStart } from '../integration/engine/support/refused-start.js';
import { type DelayNode, fencedHandler, startNode } from '../support/delay-node.js';
import { sayNotRun } from './support/programs.js';
import { ReplicatedPair } from './support/replicated-pair.js';
import { until } from '../support/until.js';

// Files are copied with their owners by `cp -a`.
const isPossible = process.platform !== 'win32';
if (!isPossible) sayNotRun('test/servers/failover.spec.ts', 'Its servers need a POSIX system.');

const READ_ONLY = '25006';
const HOUR_MS = 3_600_000;

let pair: ReplicatedPair | undefined;
const nodes: DelayNode[] = [];

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop()));
  await pair?.close();
  pair = undefined;
});

/** Closes an unpaid order; the line in `effect` has no unique key, so that a second one would show. */
const closing = fencedHandler(
  'test.close',
  async ({ key, dueAt }, { manager }) => {
    await manager.query(
      `WITH closed AS (UPDATE orders SET state = 'CLOSED' WHERE key = $1 AND state = 'UNPAID')
       INSERT INTO effect (key, due) VALUES ($1, $2)`,
      [key, dueAt],
    );
  },
  { concurrency: 8 },
);

async function open(replication: 'synchronous' | 'asynchronous'): Promise<ReplicatedPair> {
  pair = await ReplicatedPair.open(replication);
  await pair.primary.sql(`
    CREATE TABLE orders (key text PRIMARY KEY, state text NOT NULL DEFAULT 'UNPAID');
    CREATE TABLE effect (key text NOT NULL, due timestamptz NOT NULL,
                         at timestamptz NOT NULL DEFAULT clock_timestamp())`);
  return pair;
}

async function start(nodeName: string): Promise<DelayNode> {
  const node = await startNode({
    url: pair!.url,
    providers: [closing],
    options: { nodeName, lease: '2s', timeout: '2s', maxAttempts: 100, backoff: { base: 5 } },
  });
  nodes.push(node);
  return node;
}

const place = ({ dataSource, delays }: DelayNode, key: string, after: number): Promise<void> =>
  dataSource.transaction(async (manager) => {
    await manager.query('INSERT INTO orders (key) VALUES ($1)', [key]);
    await delays.schedule('test.close', null, { after, key, manager });
  });

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** How often each trouble with a read-only server was told, by what met it. */
function readOnlyTroubles(node: DelayNode): Map<string, number> {
  const met = new Map<string, number>();
  node.events.on('taskFailed', ({ task, error }) => {
    if (codeOf(error) === READ_ONLY) met.set(task, (met.get(task) ?? 0) + 1);
  });
  return met;
}

const keysOf = (what: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${what}-${n}`);

const quiet = (server: ReplicatedPair['replica']) =>
  until(
    () => server.sql<{ left: number }>('SELECT count(*)::int AS left FROM delay_queue.delay'),
    ([row]) => row?.left === 0,
  );

const effectsOf = (server: ReplicatedPair['replica']) =>
  server.sql<{ key: string; times: number; early: boolean }>(
    'SELECT key, count(*)::int AS times, bool_or(at < due) AS early FROM effect GROUP BY key',
  );

(isPossible ? describe : describe.skip)('a replica', () => {
  it('that is promoted has all that was acknowledged when replication is synchronous, and the nodes go on by themselves', async () => {
    const { primary, replica } = await open('synchronous');
    const producer = await start('a');
    const other = await start('b');
    const met = [readOnlyTroubles(producer), readOnlyTroubles(other)];
    const recovered = [producer, other].map((node) =>
      node.next('taskRecovered', ({ task }) => task === 'load'),
    );
    const acknowledged = new Set<string>();
    // What failed: it may have been committed all the same, or not.
    const unknown = new Map<string, unknown>();
    const day = new AbortController();
    const customers = (async () => {
      for (let n = 0; !day.signal.aborted; n += 1) {
        const key = `order-${n}`;
        await place(producer, key, (n * 37) % 1_000).then(
          () => acknowledged.add(key),
          (error: unknown) => unknown.set(key, error),
        );
      }
    })();
    await until(
      () => effectsOf(primary),
      (rows) => rows.length > 20,
    );
    await primary.crash();
    // As an orchestrator may do it: the address moves a moment before the replica is ready.
    pair!.pointToReplica();
    await until(
      () => met.map((each) => each.get('load') ?? 0),
      (loads) => loads.every((count) => count > 1),
    );
    await until(
      () => [...unknown.values()].map(codeOf),
      (codes) => codes.includes(READ_ONLY),
    );
    await pair!.promote();
    await Promise.all(recovered);
    const before = acknowledged.size;
    await until(
      () => acknowledged.size,
      (size) => size > before + 20,
    );
    day.abort();
    await customers;
    await quiet(replica);

    const effects = await effectsOf(replica);
    expect(effects.filter(({ times, early }) => times !== 1 || early)).toEqual([]);
    const closed = new Set(effects.map(({ key }) => key));
    expect([...acknowledged].filter((key) => !closed.has(key))).toEqual([]);
    const strangers = [...closed].filter((key) => !acknowledged.has(key) && !unknown.has(key));
    expect(strangers).toEqual([]);
    const orders = await replica.sql<{ key: string; state: string }>('SELECT * FROM orders');
    expect(orders.filter(({ state }) => state !== 'CLOSED')).toEqual([]);
    expect(orders).toHaveLength(closed.size);
  });

  it('is refused at start in recovery; promoted, it rewinds orders and delays together when replication is asynchronous', async () => {
    const { primary, replica } = await open('asynchronous');
    const node = await start('a');
    const known = keysOf('known', 9);
    for (const key of known) await place(node, key, HOUR_MS);
    await pair!.stopReplication();
    const error = await refusedStart({ url: replica.url, providers: [closing] });
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(error).toMatchObject({ message: expect.stringMatching(/replica in recovery/) });

    // What the world hears of now, the promoted replica knows nothing of.
    for (const key of known.slice(0, 3)) {
      await node.dataSource.transaction(async (manager) => {
        await manager.query(`UPDATE orders SET state = 'PAID' WHERE key = $1`, [key]);
        const { verdict } = await node.delays.cancel('test.close', key, { manager });
        expect(verdict).toBe('cancelled');
      });
    }
    for (const key of known.slice(3, 6)) {
      await node.delays.reschedule('test.close', key, { after: 0 });
    }
    await until(
      () => effectsOf(primary),
      (rows) => rows.length === 3,
    );
    for (const key of keysOf('lost', 5)) await place(node, key, HOUR_MS);

    await primary.crash();
    await pair!.promote();
    const waiting = await replica.sql<{ key: string }>(
      `SELECT key FROM delay_queue.delay JOIN orders USING (key) WHERE state = 'UNPAID' ORDER BY key`,
    );
    expect(waiting.map(({ key }) => key)).toEqual(known);
    expect(await replica.sql('SELECT FROM delay_queue.delay')).toHaveLength(known.length);
    expect(await replica.sql('SELECT FROM orders')).toHaveLength(known.length);

    pair!.pointToReplica();
    const later = keysOf('later', 5);
    for (const key of later) {
      await until(
        // Connections to the server that is gone are met one by one.
        () =>
          place(node, key, 500).then(
            () => true,
            () => false,
          ),
        (isPlaced) => isPlaced,
      );
    }
    for (const key of known) await node.delays.reschedule('test.close', key, { after: 0 });
    await quiet(replica);
    const effects = await effectsOf(replica);
    expect(effects.filter(({ times, early }) => times !== 1 || early)).toEqual([]);
    expect(effects.map(({ key }) => key).toSorted()).toEqual([...known, ...later].toSorted());
    expect(await replica.sql(`SELECT FROM orders WHERE state <> 'CLOSED'`)).toEqual([]);
  });
});
