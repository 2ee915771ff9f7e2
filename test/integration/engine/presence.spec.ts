import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { plainHandler, type DelayNode } from '../../support/delay-node.js';
import { IS_LISTENER } from '../../support/listener.js';
import { stageOfEach } from './support/stage-of-each.js';
import { until } from '../../support/until.js';
import { AdviceWatch } from './support/advice-watch.js';
import { presenceSql } from '../../support/statements.js';
import { NodeStore } from '../../support/engine-parts.js';

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

const { advice, provider: watch } = new AdviceWatch();

const start = (nodeName: string): Promise<DelayNode> =>
  stage.start({
    options: { nodeName, loadEvery: '100ms' },
    providers: [watch, plainHandler('test.a', () => {})],
  });

/** So many loads more have been answered. */
async function loads(count: number): Promise<void> {
  const load = stage.parts.intercept(NodeStore, 'load');
  await until(
    () => load.answers.length,
    (answered) => answered > count,
  );
}

it('two living processes of one name are told so, each once', async () => {
  await start('twin');
  await start('twin');
  await until(
    () => advice.length,
    (count) => count === 2,
  );
  expect(advice).toEqual([
    expect.stringMatching(/another process is also named twin.*omit the option nodeName/),
    expect.stringMatching(/another process is also named twin/),
  ]);
  await loads(5);
  expect(advice.splice(0)).toHaveLength(2);
});

it('a name may be used again, after a goodbye and after a kill without one', async () => {
  await (await start('again')).stop();
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at, instance)
     VALUES ('again', '{test.a}', true, now(), now(), 'killed')`,
  );
  const node = await start('again');
  await loads(5);
  const ends = node.next('completed');
  await node.delays.schedule('test.a', { n: 1 }, { after: 0 });
  await ends;
  expect(advice).toEqual([]);
});

it('a node that has the name of an earlier one started when its own process did', async () => {
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at, instance)
     VALUES ('again', '{test.a}', true, '2020-01-01', '2020-01-02', 'killed'),
            ('as of 0.1', '{test.a}', true, '2020-01-01', '2020-01-02', NULL)`,
  );
  const [{ began }] = (await stage.sql<{ began: Date }>('SELECT clock_timestamp() AS began')) as [
    { began: Date },
  ];
  const node = await start('again');
  await start('as of 0.1');
  const nodes = async () => (await node.admin.stats()).nodes;
  // One that is slow to beat is left out for a while.
  const startedAt = async (): Promise<Date[]> => {
    const both = await until(nodes, ({ length }) => length === 2);
    return both.map((each) => each.startedAt);
  };
  const first = await startedAt();
  expect(first.map((at) => at >= began)).toEqual([true, true]);
  await loads(5);
  expect(await startedAt()).toEqual(first);
});
