import { Pool } from 'pg';
import { inTransaction, connect, withClient, numberAt } from '../server/bench-server.js';
import type { Adapter, Batch, BenchProducer, BenchWorker, Hears } from './adapter.js';

const TICK_MS = 1_000;
const PAGE = 100;
const POOL_MAX = 20;

/**
 * What teams write themselves in an afternoon: a table, a tick, a page. Rows leave the table in the
 * statement that fetches them, so it is the fastest form, and a crash loses the page in hand.
 */
export const TABLE_POLL: Adapter = {
  name: 'table poll',
  settings:
    `table poll: every ${TICK_MS} ms DELETE … RETURNING of ${PAGE} rows (SKIP LOCKED), ` +
    `at once again while pages are full; a crash loses the page in hand; a pool of ${POOL_MAX}`,
  prepare,
  fill,
  openWorker: (url, _running, hears) => openWorker(url, hears),
  openProducer,
  left,
};

const PAGE_SQL = `
WITH page AS MATERIALIZED (
  SELECT id FROM poll_delay
  WHERE due_at <= (SELECT clock_timestamp())
  ORDER BY due_at
  LIMIT ${PAGE}
  FOR UPDATE SKIP LOCKED
)
DELETE FROM poll_delay d USING page WHERE d.id = page.id
RETURNING d.payload, extract(epoch FROM d.due_at)::float8 * 1000 AS due_ms`;

const CANCEL_SQL = `DELETE FROM poll_delay WHERE name = 'bench.run' AND key = $1`;

async function prepare(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`
      CREATE TABLE poll_delay (
        id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        due_at     timestamptz NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        name       text NOT NULL,
        key        text,
        payload    jsonb NOT NULL
      );
      CREATE INDEX ON poll_delay (due_at);
      CREATE UNIQUE INDEX ON poll_delay (name, key) WHERE key IS NOT NULL;`);
  });
}

async function fill(url: string, { first, count, dueFromMs, dueToMs }: Batch): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      `INSERT INTO poll_delay (due_at, name, payload)
       SELECT now() + ($3::float8 + ($4::float8 - $3::float8) * i / $2::int)
                * interval '1 millisecond',
              'bench.run', jsonb_build_object('n', $1::int + i)
       FROM generate_series(0, $2::int - 1) AS i`,
      [first, count, dueFromMs, dueToMs],
    );
  });
}

async function openWorker(url: string, hears: Hears): Promise<BenchWorker> {
  const client = await connect(url);
  let [isStopped, polling]: [boolean, Promise<void> | undefined] = [false, undefined];
  let timer: NodeJS.Timeout | undefined;
  const poll = async (): Promise<void> => {
    for (;;) {
      const { rows } = await client.query<{ payload: { n: number }; due_ms: number }>(PAGE_SQL);
      for (const { payload, due_ms: dueMs } of rows) {
        hears.handled(payload.n, dueMs);
        hears.settled();
      }
      if (isStopped || rows.length < PAGE) return;
    }
  };
  /** No tick begins while the one before is at work. */
  const tick = (): void => {
    polling ??= poll().finally(() => {
      polling = undefined;
    });
  };
  return {
    async start() {
      timer = setInterval(tick, TICK_MS);
      tick();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await polling;
      await client.end();
    },
  };
}

async function openProducer(url: string): Promise<BenchProducer> {
  const pool = new Pool({ connectionString: url, max: POOL_MAX });
  pool.on('error', () => {});
  return {
    async schedule(n, dueInMs) {
      await pool.query(
        `INSERT INTO poll_delay (due_at, name, key, payload)
         VALUES (clock_timestamp() + $1::float8 * interval '1 millisecond', 'bench.run', $2, $3)`,
        [dueInMs, String(n), JSON.stringify({ n })],
      );
    },
    async scheduleMany(first, count, dueInMs) {
      const numbers = Array.from({ length: count }, (_, index) => first + index);
      await pool.query(
        `INSERT INTO poll_delay (due_at, name, key, payload)
         SELECT clock_timestamp() + $1::float8 * interval '1 millisecond', 'bench.run', key, payload
         FROM unnest($2::text[], $3::jsonb[]) AS item(key, payload)`,
        [dueInMs, numbers.map(String), numbers.map((n) => JSON.stringify({ n }))],
      );
    },
    async cancel(n) {
      return (await pool.query(CANCEL_SQL, [String(n)])).rowCount === 1;
    },
    cancelInTransaction: (n) =>
      inTransaction(
        pool,
        async (client) => (await client.query(CANCEL_SQL, [String(n)])).rowCount === 1,
      ),
    stop: () => pool.end(),
  };
}

function left(url: string): Promise<number> {
  return numberAt(url, 'SELECT count(*)::int AS count FROM poll_delay');
}
