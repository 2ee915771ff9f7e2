import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { presenceSql } from '../../../src/delay-queue/store/sql/fragments/clock.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { plainHandler } from '../../support/delay-node.js';
import { IS_LISTENER } from '../../support/listener.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

/** Does it with a session of its own. */
async function withSession(work: (session: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: stage.url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

it('the nodes that a node shares the load with are those whose process lives, or, where they cannot hold a lock, whose heart beats', () =>
  withSession(async (client) => {
    await client.query(
      `INSERT INTO delay_queue.node (id, present, seen_at, names, started_at)
       SELECT *, '{test.x}', now()
       FROM (VALUES ('listening', true, clock_timestamp()),
                    -- However fresh its heartbeat is.
                    ('killed', true, clock_timestamp()),
                    ('behind-a-pooler', false, clock_timestamp()),
                    ('long-silent', false, clock_timestamp() - interval '1 minute'),
                    -- It holds its lock, but has not beaten for long.
                    ('paused', true, clock_timestamp() - interval '1 minute')) AS node`,
    );
    for (const id of ['listening', 'paused']) await client.query(presenceSql(), [id, null]);
    const runner = { query: (sql: string, given: unknown[]) => stage.sql(sql, given) as never };
    const { nodes } = await new NodeStore(runner, 'delay_queue', 'self').load(
      { names: ['test.x'], counts: [1], ranks: [0], byGroup: [], leftOut: [] },
      { wakeMs: 0, id: 0 },
      { horizonMs: 1_000, limit: 10, peersWithinMs: 30_000, isPresent: false, instance: 'i' },
    );
    expect(nodes.map(([id]) => id).toSorted()).toEqual(['behind-a-pooler', 'listening']);
  }));

/** What the node's next heartbeat with that value says. */
const told = (present: boolean): Promise<{ present: boolean }[]> =>
  stage.until(
    `SELECT present FROM delay_queue.node WHERE id = 'again'`,
    ([row]) => row?.present === present,
  );

describe('a node whose lock is held by a session of its past', () => {
  it('does not say that it holds one, so that its heartbeats count', async () => {
    await withSession(async (past) => {
      await past.query(presenceSql(), ['again', null]);
      await stage.start({
        options: { nodeName: 'again', loadEvery: '100ms', horizon: '1s' },
        providers: [plainHandler('test.x', () => {})],
      });
      expect(await told(false)).toHaveLength(1);
    });
    // The next connection takes it.
    await stage.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND ${IS_LISTENER}`,
    );
    expect(await told(true)).toHaveLength(1);
  });
});
