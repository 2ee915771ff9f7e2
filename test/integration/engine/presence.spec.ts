import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { presenceSql } from '../../../src/delay-queue/store/sql/nodes/presence.sql.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { plainHandler } from '../../support/delay-node.js';
import { IS_LISTENER } from '../../support/listener.js';
import { clientRunner } from '../../support/other-node.js';
import { Stage } from './support/stage.js';

describe('the nodes that a node shares the load with', () => {
  let database: TestDatabase;
  let client: Client;
  let other: Client;

  beforeEach(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    other = new Client({ connectionString: database.url });
    await Promise.all([client.connect(), other.connect()]);
  });

  afterEach(async () => {
    await Promise.all([client.end(), other.end()]);
    await database.drop();
  });

  const peers = async (): Promise<string[]> => {
    const page = await new NodeStore(clientRunner(client), 'delay_queue', 'self').load(
      { names: ['test.x'], counts: [1], ranks: [0], byGroup: [], leftOut: [] },
      { wakeMs: 0, id: 0 },
      { horizonMs: 1_000, limit: 10, peersWithinMs: 30_000, isPresent: false, instance: 'i' },
    );
    return page.nodes.map(([id]) => id);
  };

  const beat = (id: string, present: boolean, agoMs = 0): Promise<unknown> =>
    client.query(
      `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
       VALUES ($1, '{test.x}', $2, now(), clock_timestamp() - $3 * interval '1 millisecond')`,
      [id, present, agoMs],
    );

  it('are those whose process lives, however fresh the heartbeat of a dead one is', async () => {
    await beat('listening', true);
    await beat('killed', true);
    await other.query(presenceSql(), ['listening']);
    expect(await peers()).toEqual(['listening']);
  });

  it('are known by their heartbeat alone where they cannot hold a lock', async () => {
    await beat('behind-a-pooler', false);
    await beat('long-silent', false, 60_000);
    expect(await peers()).toEqual(['behind-a-pooler']);
  });

  it('are not one that holds its lock but has not beaten for long: it is paused', async () => {
    await beat('paused', true, 60_000);
    await other.query(presenceSql(), ['paused']);
    expect(await peers()).toEqual([]);
  });
});

describe('a node whose lock is held by a session of its past', () => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await Stage.open();
  });

  afterEach(() => stage.close());

  /** What the node's next heartbeat with that value says. */
  const told = (present: boolean): Promise<{ present: boolean }[]> =>
    stage.until(
      `SELECT present FROM delay_queue.node WHERE id = 'again'`,
      ([row]) => row?.present === present,
    );

  it('does not say that it holds one, so that its heartbeats count', async () => {
    const past = new Client({ connectionString: stage.url });
    await past.connect();
    try {
      await past.query(presenceSql(), ['again']);
      await stage.start({
        options: { nodeName: 'again', loadEvery: '100ms', horizon: '1s' },
        providers: [plainHandler('test.x', () => {})],
      });
      expect(await told(false)).toHaveLength(1);
    } finally {
      await past.end();
    }
    // The next connection takes it.
    await stage.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND ${IS_LISTENER}`,
    );
    expect(await told(true)).toHaveLength(1);
  });
});
