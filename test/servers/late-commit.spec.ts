import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type DelayNode, plainHandler, signal, startNode } from '../support/delay-node.js';
import { Parts } from '../support/parts.js';
import { until } from '../support/until.js';
import { OwnServer } from './support/own-server.js';
import { AttemptStore } from '../support/engine-parts.js';

/** A synchronous replica is away: every COMMIT hangs, and happens once it is back. */
let server: OwnServer;
let node: DelayNode | undefined;

beforeEach(async () => {
  server = await OwnServer.create({ fsync: 'off' });
  await server.start();
  await server.migrate();
});

afterEach(async () => {
  await waitForReplica('');
  await node?.stop();
  await server.remove();
});

async function waitForReplica(name: string): Promise<void> {
  await server.configure({ synchronous_standby_names: name });
  await server.sql('SELECT pg_reload_conf()');
  await until(
    () =>
      server.sql<{ is: boolean }>(
        `SELECT current_setting('synchronous_standby_names') = '${name}' AS is`,
      ),
    ([row]) => row!.is,
  );
}

it('a claim whose COMMIT hung is no attempt, and no dead letter', async () => {
  const attempts: number[] = [];
  const ends: string[] = [];
  const parts = new Parts();
  node = await startNode({
    parts,
    url: server.url,
    // Sooner than any sweep would find it.
    options: { lease: '10m', timeout: '10m' },
    providers: [
      plainHandler('test.once', ({ attempt }) => void attempts.push(attempt), { maxAttempts: 1 }),
    ],
  });
  for (const event of ['dead', 'lost'] as const) node.events.on(event, () => ends.push(event));
  const { id } = await node.delays.schedule('test.once', null, { after: '1h', key: 'k' });

  // As `query_timeout` does after 15 s: the node gives the claim up, and the server goes on with it.
  const giveUp = signal<never>();
  const claimed = signal();
  const gives = ({ real }: { real: () => ReturnType<AttemptStore['claim']> }) => {
    const rows = real();
    rows.catch(() => {});
    claimed.resolve();
    return Promise.race([rows, giveUp.promise]);
  };
  parts.intercept(AttemptStore, 'claim', gives, 1);
  await waitForReplica('nobody');
  // Due now, told to the node, and committed without the replica.
  await server.sql(
    `SET synchronous_commit = local;
     UPDATE delay_queue.delay SET due_at = clock_timestamp(), wake_at = clock_timestamp();
     SELECT pg_notify('delay_queue', 'w[[${id},0,"test.once",0]]')`,
  );
  await claimed.promise;
  await until(
    () =>
      server.sql<{ waiting: number }>(
        `SELECT count(*)::int AS waiting FROM pg_stat_activity
         WHERE wait_event = 'SyncRep' AND query LIKE '%AS w(id, epoch, lease_ms, max_attempts, fenced)%'`,
      ),
    ([row]) => row!.waiting === 1,
  );
  const trouble = node.next('taskFailed', ({ task }) => task === 'claim');
  const lookedAt = signal();
  parts.intercept(AttemptStore, 'lookAt', async ({ real }) => {
    const rows = await real();
    lookedAt.resolve();
    return rows;
  });
  giveUp.reject(new Error('Query read timeout'));
  await trouble;
  // To the node the row is as it was: not its own.
  await lookedAt.promise;

  const completed = node.next('completed');
  await waitForReplica('');
  expect(await completed).toMatchObject({ key: 'k', attempt: 1 });
  expect({ attempts, ends }).toEqual({ attempts: [1], ends: [] });
  expect(await server.sql('SELECT state, attempts FROM delay_queue.history')).toEqual([
    { state: 'completed', attempts: 1 },
  ]);
}, 60_000);
