import { Client } from 'pg';
import { BatchStore } from '../../../src/delay-queue/store/batch.store.js';
import { DelayStore } from '../../../src/delay-queue/store/delay.store.js';
import type { Runner } from '../../../src/delay-queue/store/wire/runner.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { SCHEMA } from '../postgres/catalog.js';
import { msOf, type Micros, type Row } from '../postgres/row.js';
import { Server } from '../postgres/server.js';
import type { Session } from '../postgres/sessions.js';
import { Timeline } from '../time/timeline.js';

/** The two sessions of a sequence: one for single statements, one that opens transactions. */
export type Which = 'single' | 'open';

/** A Postgres, real or simulated, with what a sequence needs of it. */
export interface Side {
  readonly work: (which: Which, node: string) => AttemptStore;
  readonly ofNode: (node: string) => NodeStore;
  readonly delays: (node: string) => DelayStore;
  readonly together: BatchStore;
  readonly runner: (which: Which) => Runner;
  /** Milliseconds since 1970 on this side's clock, about now. */
  nowMs(): number;
  /** Everything that is written moves into the past. */
  pass(ms: number): Promise<void>;
  /** Table and history, instants in milliseconds. */
  state(): Promise<{ delay: object[]; history: object[] }>;
}

const stores = (runner: (which: Which) => Runner) => ({
  runner: (which: Which) =>
    which === 'open' ? { ...runner(which), transaction: 'callers' as const } : runner(which),
  work: (which: Which, node: string) => new AttemptStore(runner(which), SCHEMA, true, node),
  ofNode: (node: string) => new NodeStore(runner('single'), SCHEMA, node),
  delays: (node: string) => new DelayStore(SCHEMA, true, node),
  together: new BatchStore(SCHEMA, true),
});

export interface RealSide extends Side {
  /** Begins anew: no row, no lock, ids from 1 on. */
  clear(): Promise<void>;
  /** Resolves when the call on the single session waits for a lock. */
  untilItWaits(): Promise<void>;
  close(): Promise<void>;
}

/** A call that waits here and not there fails by this instead of hanging. */
const STATEMENT_TIMEOUT_MS = 20_000;

export async function realSide(url: string): Promise<RealSide> {
  const config = { connectionString: url, statement_timeout: STATEMENT_TIMEOUT_MS };
  const clients = { single: new Client(config), open: new Client(config) };
  const watcher = new Client(config);
  await Promise.all([clients.single.connect(), clients.open.connect(), watcher.connect()]);
  const { rows } = await clients.single.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const sql = async <Found>(text: string, parameters: unknown[] = []): Promise<Found[]> =>
    (await clients.single.query<Found & object>(text, parameters)).rows;
  const [clock] = await sql<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  const aheadMs = (clock?.now ?? 0) - performance.now();
  const runner = (which: Which): Runner => ({
    query: async <Found>(text: string, parameters: unknown[]) =>
      (await clients[which].query<Found & object>(text, parameters)).rows,
  });
  return {
    ...stores(runner),
    nowMs: () => performance.now() + aheadMs,
    pass: async (ms) => {
      const back = `- ${ms} * interval '1 millisecond'`;
      await sql(`UPDATE ${SCHEMA}.delay SET due_at = due_at ${back}, wake_at = wake_at ${back},
                   leased_until = leased_until ${back}, created_at = created_at ${back}`);
      await sql(`UPDATE ${SCHEMA}.history SET due_at = due_at ${back}, ended_at = ended_at ${back},
                   created_at = created_at ${back}`);
      await sql(`UPDATE ${SCHEMA}.node SET seen_at = seen_at ${back}`);
    },
    state: async () => ({ delay: await sql(DELAY_SQL), history: await sql(HISTORY_SQL) }),
    clear: async () => {
      await sql(`DELETE FROM ${SCHEMA}.delay`);
      await sql(`DELETE FROM ${SCHEMA}.history`);
      await sql(`DELETE FROM ${SCHEMA}.node`);
      await sql(`ALTER TABLE ${SCHEMA}.delay ALTER COLUMN id RESTART`);
      for (const client of Object.values(clients)) await client.query(UNLOCK_SQL);
    },
    untilItWaits: async () => {
      const waiting = "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'";
      const giveUpAtMs = performance.now() + STATEMENT_TIMEOUT_MS;
      while ((await watcher.query(waiting, [rows[0]?.pid])).rowCount === 0) {
        if (performance.now() > giveUpAtMs) throw new Error('the real Postgres does not wait');
      }
    },
    close: async () => {
      await Promise.all([clients.single.end(), clients.open.end(), watcher.end()]);
    },
  };
}

const ms = (column: string): string =>
  `CASE WHEN isfinite(${column}) THEN (extract(epoch FROM ${column}) * 1000)::float8 END`;

const UNLOCK_SQL = 'SELECT pg_advisory_unlock_all()';

const DELAY_SQL = `
  SELECT id::float8 AS id, name, key, payload::text AS payload, ${ms('due_at')} AS due_ms,
         ${ms('wake_at')} AS wake_ms, ${ms('leased_until')} AS leased_ms, leased_by,
         ${ms('created_at')} AS created_ms, epoch::float8 AS epoch, attempts, max_attempts, last_error
  FROM ${SCHEMA}.delay ORDER BY id`;

const HISTORY_SQL = `
  SELECT id::float8 AS id, ${ms('ended_at')} AS ended_ms, ${ms('due_at')} AS due_ms,
         ${ms('created_at')} AS created_ms, lateness_ms AS lateness, epoch::float8 AS epoch,
         attempts, state, name,
         key, node, error
  FROM ${SCHEMA}.history ORDER BY id, epoch`;

export function simulatedSide(): Side {
  const timeline = new Timeline();
  const server = new Server(timeline);
  const endOf = (): Session =>
    server.sessions.add({ owner: '', onEnd: () => {}, onNotification: () => {} });
  const sessions = { single: endOf(), open: endOf() };
  const runner = (which: Which): Runner => ({
    query: (text, parameters) =>
      new Promise((resolve, reject) => {
        // Two statements never have the same instant.
        elapse(timeline, 2);
        server.execute(sessions[which], text, parameters, (error, rows) => {
          if (error) reject(error);
          else resolve(rows as never);
        });
        elapse(timeline, 0);
      }),
  });
  return {
    ...stores(runner),
    nowMs: () => msOf(server.now()),
    pass: async (byMs) => elapse(timeline, byMs),
    state: async () => ({
      delay: [...server.tables.rows.values()].toSorted((a, b) => a.id - b.id).map(delayColumns),
      history: server.tables.history
        .toSorted((a, b) => a.id - b.id || a.epoch - b.epoch)
        .map(({ endedAt, dueAt, createdAt, latenessMs, ...rest }) => ({
          ended_ms: msOf(endedAt),
          due_ms: msOf(dueAt),
          created_ms: msOf(createdAt),
          lateness: latenessMs,
          ...rest,
        })),
    }),
  };
}

/** Lets everything happen that is to happen within that time. */
function elapse(timeline: Timeline, byMs: number): void {
  const end = timeline.after(byMs, () => {});
  for (;;) {
    const next = timeline.next();
    next?.happen();
    if (next === end) return;
  }
}

const finite = (instant: Micros | null): number | null =>
  instant === null || instant === Infinity ? null : msOf(instant);

const delayColumns = (row: Row): object => ({
  id: row.id,
  name: row.name,
  key: row.key,
  payload: row.payload,
  due_ms: finite(row.dueAt),
  wake_ms: finite(row.wakeAt),
  leased_ms: finite(row.leasedUntil),
  leased_by: row.leasedBy,
  created_ms: finite(row.createdAt),
  epoch: row.epoch,
  attempts: row.attempts,
  max_attempts: row.maxAttempts,
  last_error: row.lastError,
});
