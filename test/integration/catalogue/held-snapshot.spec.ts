import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { plainHandler } from '../../support/delay-node.js';
import { explain } from '../../support/explain.js';
import { OtherNode } from '../../support/other-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { loadSql, qualifiedTables } from '../../support/statements.js';

/** Delays that came and went while somebody held a snapshot. */
const GONE = 10_000;
const BATCH = 500;
const FIRED = 50;
const NAME = 'test.churned';
const HORIZON_MS = 30_000;
const GRACE_MS = 5_000;

let client: Client;
let holder: Client;

afterEach(() => Promise.all([client.end(), holder.end()]));

const stage = stageOfEach();

beforeEach(async () => {
  client = new Client({ connectionString: stage.url });
  holder = new Client({ connectionString: stage.url });
  await Promise.all([client.connect(), holder.connect()]);
});

/** By the engine's own statements: each row is inserted, claimed and removed. */
async function churn(): Promise<void> {
  const other = new OtherNode({
    query: async (sql: string, parameters?: unknown[]) =>
      (await client.query(sql, parameters)).rows as never,
  });
  for (let done = 0; done < GONE; done += BATCH) {
    const { rows } = await client.query<{ id: number }>(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
       SELECT $1, 'null', at, at, at
       FROM generate_series(1, $2::int),
            LATERAL (SELECT clock_timestamp() - interval '1 hour' AS at) AS due
       RETURNING id::float8 AS id`,
      [NAME, BATCH],
    );
    const claimed = await other.store.claim(
      rows.map(({ id }) => ({ id, epoch: 0, leaseMs: 60_000, maxAttempts: 10 })),
    );
    await other.store.complete(claimed.map(({ id, epoch }) => ({ id, epoch, latenessMs: 0 })));
  }
}

/** How many dead rows the last vacuum had to leave. */
async function deadAfterVacuum(): Promise<number> {
  // By default it leaves the dead items of a single page, and ANALYZE counts them.
  await client.query('VACUUM (INDEX_CLEANUP on, ANALYZE) delay_queue.delay');
  await client.query('SELECT pg_stat_force_next_flush()').catch(() => {});
  const { rows } = await client.query<{ dead: number }>(
    `SELECT n_dead_tup::int AS dead FROM pg_stat_user_tables
     WHERE relid = 'delay_queue.delay'::regclass`,
  );
  return rows[0]!.dead;
}

async function load(fromMs: number): Promise<number> {
  const parameters = [
    'node-1',
    [NAME],
    [1],
    [0],
    fromMs,
    0,
    HORIZON_MS,
    5_000,
    HORIZON_MS,
    false,
    null,
    'instance',
  ];
  return (await explain(client, loadSql(qualifiedTables('delay_queue')), parameters)).buffers;
}

it('a snapshot that somebody holds open keeps the dead rows, and the loader steps over them', async () => {
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await holder.query('SELECT count(*) FROM delay_queue.delay');
  await churn();
  expect(await deadAfterVacuum()).toBeGreaterThanOrEqual(GONE);

  const { rows } = await client.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  const nowMs = rows[0]!.ms;
  // From the low-water mark, as the loader reads; and as it would without one.
  expect(await load(nowMs - GRACE_MS)).toBeLessThan(30);
  expect(await load(0)).toBeGreaterThan(500);

  const node = await stage.start({ providers: [plainHandler(NAME, () => {})] });
  await node.delays.scheduleMany(
    Array.from({ length: FIRED }, (_, n) => ({ name: NAME, payload: n, after: n })),
  );
  await stage.noneLeft();

  await holder.query('COMMIT');
  // Before Postgres 15 the figure reaches its table a moment later.
  await until(deadAfterVacuum, (dead) => dead === 0);
  expect(await load(0)).toBeLessThan(200);
});
