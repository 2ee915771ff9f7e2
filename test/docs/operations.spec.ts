import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Client, type QueryResult } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';
import { until } from '../support/until.js';
import { wordsOf } from './compile.js';
import { codeBlocks, section } from './documents.js';
import { adapted, blocksUnder, dropRoles, OPERATIONS } from './operations-sql.js';

let database: TestDatabase;
let client: Client;
let source: DataSource;
let other: OtherNode;
let node: DelayNode | undefined;
let roles: string;

/** One of everything that an operator may meet, by its key. */
const STATES = {
  future: { wake: `+ interval '1 day'` },
  overdue: { wake: `- interval '1 hour'` },
  running: { wake: `- interval '1 minute'` },
  crashed: { wake: `- interval '2 minutes'` },
  dead: { wake: `- interval '3 minutes'` },
};
type Key = keyof typeof STATES;

/** Its node, as the document calls it. */
const GONE = 'shop-1:4711:c0de';

beforeEach(async () => {
  roles = `shop_${randomBytes(5).toString('hex')}`;
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  source = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  other = new OtherNode(source, GONE);
  const ids = new Map<Key, string>();
  for (const [key, { wake }] of Object.entries(STATES)) {
    ids.set(key as Key, await insert('order.close', key, wake));
  }
  // The identity of the document's example.
  await client.query(
    `INSERT INTO delay_queue.delay (id, name, key, payload, due_at, wake_at, created_at)
     OVERRIDING SYSTEM VALUE VALUES (42, 'order.close', 'by id', '{}', now() + interval '1 day',
                                     now() + interval '1 day', now())`,
  );
  await insert('report.send', 'orphan', `- interval '10 minutes'`);
  await other.claim(ids.get('running')!);
  await other.claimAndDie(ids.get('crashed')!);
  await other.claimAndFail(ids.get('dead')!, null);
  await client.query(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     VALUES ('shop-2:1:beef', '{order.close,order.expire}', true, now(), clock_timestamp());
     INSERT INTO delay_queue.history
       (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key)
     SELECT 1000 + n, clock_timestamp(), now(), now(), n, 1, 1, 'completed', 'order.close', n::text
     FROM generate_series(1, 100) n`,
  );
});

afterEach(async () => {
  await node?.stop();
  node = undefined;
  await source.destroy();
  await dropRoles(client, roles);
  await client.end();
  await database.drop();
});

async function insert(name: string, key: string, wake: string): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT $1, $2, '{}', at, at, now() FROM (SELECT now() ${wake} AS at) due RETURNING id`,
    [name, key],
  );
  return rows[0]!.id;
}

async function run(code: string): Promise<QueryResult> {
  const results = (await client.query(adapted(code, database.url, roles))) as unknown as
    QueryResult | QueryResult[];
  return Array.isArray(results) ? results.at(-1)! : results;
}

/** Runs all blocks under a heading; answers the rows of the last statement. */
async function runUnder(heading: string): Promise<Record<string, unknown>[]> {
  const blocks = blocksUnder(heading);
  if (blocks.length === 0) throw new Error(`no SQL under "${heading}"`);
  let rows: Record<string, unknown>[] = [];
  for (const block of blocks) ({ rows } = await run(block));
  return rows;
}

const row = async (key: Key | 'by id'): Promise<Record<string, unknown> | undefined> => {
  const { rows } = await client.query<Record<string, unknown>>(
    `SELECT name, epoch::int, attempts, leased_by, wake_at = 'infinity' AS dead,
            wake_at <= clock_timestamp() AS due,
            date_trunc('milliseconds', wake_at) = wake_at AS whole
     FROM delay_queue.delay WHERE key = $1`,
    [key],
  );
  return rows[0];
};

/** Starts a node that serves `order.close`, and waits until it has completed that key. */
async function completedUntil(key: string): Promise<void> {
  node = await startNode({
    url: database.url,
    options: { lease: '1s' },
    providers: [plainHandler('order.close' as 'test.a', () => {})],
  });
  // It may have done so before its start was over.
  await until(
    () =>
      client.query(`SELECT FROM delay_queue.history WHERE key = $1 AND state = 'completed'`, [key]),
    ({ rowCount }) => rowCount === 1,
  );
}

const all = codeBlocks(OPERATIONS, 'sql').map(({ line, code }) => ({ line, code }));

describe('the SQL of docs/operations.md', () => {
  it.each(all)('runs: line $line', async ({ code }) => {
    // The rights are given to roles that the block before has made.
    if (code.includes('shop_app') && !code.includes('CREATE ROLE')) {
      await run('CREATE ROLE shop_owner; CREATE ROLE shop_app');
    }
    await expect(run(code)).resolves.toBeDefined();
  });

  it('raises the epoch wherever it changes delays', () => {
    const updates = all.filter(({ code }) => /\bUPDATE delay_queue\.delay\b/.test(code));
    expect(updates.length).toBeGreaterThan(4);
    expect(updates.filter(({ code }) => !code.includes('epoch = epoch + 1'))).toEqual([]);
  });
});

describe('what it shows', () => {
  it.each<[string, Record<string, unknown>[]]>([
    [
      'The backlog and its age',
      [
        { name: 'order.close', overdue: '2', oldest_s: '3600' },
        { name: 'report.send', overdue: '1', oldest_s: '600' },
      ],
    ],
    ['Names that nobody serves', [{ name: 'report.send', overdue: '1' }]],
    ['Dead letters', [{ name: 'order.close', dead: '1' }]],
    ['Live nodes', [{ id: 'shop-2:1:beef', present: true, silent_s: '0' }]],
    ['Leases', [{ name: 'order.close', leased_by: GONE, running: '1', run_out: '1' }]],
    [
      'Lateness and attempts',
      [{ name: 'order.close', completed: '100', p50_ms: '50.5', p99_ms: '99.0' }],
    ],
    ['Dead letters pile up', [{ name: 'order.close', error: 'Error: no', dead: '1' }]],
    ['A payload kills its process', [{ key: 'crashed', attempts: 1, leased_by: GONE }]],
  ])('%s', async (heading, expected) => {
    // Ages grow while the test runs.
    const rows = (await runUnder(heading)).map((each) =>
      'oldest_s' in each
        ? { ...each, oldest_s: String(Math.floor(Number(each['oldest_s']) / 60) * 60) }
        : each,
    );
    expect(rows).toMatchObject(expected);
    expect(rows).toHaveLength(expected.length);
  });

  it('Dead tuples: a line for each table', async () => {
    const rows = await runUnder('Dead tuples');
    expect(rows.map(({ relname }) => relname)).toEqual([
      'delay',
      'history',
      'node',
      'pause',
      'permit',
      'quota',
    ]);
  });

  it('The oldest snapshot: a session that holds one', async () => {
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    const [pid] = await source.query('SELECT pg_backend_pid() AS pid');
    const rows = await runUnder('The oldest snapshot');
    expect(rows.map(({ holder }) => holder)).toContain(`session ${pid.pid}`);
    await source.query('ROLLBACK');
  });
});

describe('what it repairs', () => {
  it('Retry dead letters: it runs', async () => {
    await runUnder('Retry dead letters');
    expect(await row('dead')).toMatchObject({ dead: false, due: true, attempts: 0, whole: true });
    await completedUntil('dead');
  });

  it('Discard: it is gone, into history, and nothing else is', async () => {
    await runUnder('Discard');
    expect(await row('dead')).toBeUndefined();
    const { rows } = await client.query(
      `SELECT state, error FROM delay_queue.history WHERE key = 'dead'`,
    );
    expect(rows).toEqual([{ state: 'discarded', error: 'Error: no' }]);
    for (const key of ['future', 'overdue', 'running', 'crashed'] as const) {
      expect(await row(key)).toBeDefined();
    }
  });

  it('Run now: it runs before its time', async () => {
    await runUnder('Run now');
    expect(await row('by id')).toMatchObject({ due: true, whole: true, epoch: 1 });
    await completedUntil('by id');
  });

  it('Postpone: what is overdue waits, what runs is left alone', async () => {
    await runUnder('Postpone');
    expect(await row('overdue')).toMatchObject({ due: false, dead: false, whole: true });
    expect(await row('running')).toMatchObject({ due: true, epoch: 1, leased_by: GONE });
    expect(await row('dead')).toMatchObject({ dead: true });
  });

  it('Bury: a dead letter, and the attempt that held it cannot complete it', async () => {
    const claimed = await claimTheExample();
    await runUnder('Bury');
    expect(await row('by id')).toMatchObject({ dead: true, leased_by: null });
    const { id, epoch } = claimed;
    expect(await other.store.complete([{ id, epoch, latenessMs: 0 }])).toEqual([]);
  });

  it('Release: it runs at once, with its attempts counted', async () => {
    await runUnder('Release');
    for (const key of ['running', 'crashed'] as const) {
      expect(await row(key)).toMatchObject({ leased_by: null, attempts: 1, epoch: 2 });
    }
    await completedUntil('running');
  });

  it('Rename: what waits has the new name, unless its key is taken there or it runs', async () => {
    await insert('order.expire', 'future', `+ interval '2 days'`);
    await runUnder('Rename');
    const { rows } = await client.query<{ key: string }>(
      `SELECT key FROM delay_queue.delay WHERE name = 'order.close' ORDER BY key`,
    );
    expect(rows.map(({ key }) => key)).toEqual(['crashed', 'future', 'running']);
  });
});

async function claimTheExample(): Promise<{ id: number; epoch: number }> {
  await run(blocksUnder('Run now')[0]!);
  return other.claim('42');
}

describe('the log', () => {
  it('is told with every duty that can fail', () => {
    const told = section(OPERATIONS, 'The log');
    const duties = wordsOf('src/delay-queue/tasks/trouble.ts', 'Duty');
    expect(duties.filter((duty) => !told.includes(`\`${duty}`))).toEqual([]);
  });
});
