import type { Client, QueryResult } from 'pg';
import { removeOneSql } from '../../src/delay-queue/core/store/sql/attempts.sql.js';
import { engineSettings } from '../../src/delay-queue/core/database/connection-config.js';
import { PreparedStatements } from '../../src/delay-queue/core/database/prepared-statements.js';
import { qualifiedTables } from '../../src/delay-queue/core/database/tables.js';
import { AttemptStore } from '../../src/delay-queue/core/store/attempt.store.js';
import type { ClaimedRow } from '../../src/delay-queue/core/store/rows/answers.js';
import type { Adapter, BenchWorker, Hears, Running } from './adapter.js';
import { OURS } from './ours.js';
import { connect } from '../server/bench-server.js';
import { ORDERS } from './orders.js';

const SESSIONS = 16;
const PAGE = 64;
const [LEASE_MS, ATTEMPTS_MAX] = [30_000, 10];

/**
 * What exactly once costs at least: the engine's claim and removal, each attempt in three messages, on sessions
 * of `pg` alone. Nothing is retried, renewed or heard, and the timer is not there.
 */
export const BARE_SESSIONS: Adapter = {
  ...OURS,
  name: 'bare sessions',
  settings:
    `bare sessions: the engine's statements on ${SESSIONS} sessions of pg; claims of ${PAGE}, refilled when half is ` +
    'left; an attempt is BEGIN, the UPDATE, removal and COMMIT',
  onlyByName: 'it is no queue, it shows what the statements of exactly once take',
  handlers: ['close'],
  takesConcurrency: false,
  openWorker,
};

async function openWorker(url: string, _running: Running, hears: Hears): Promise<BenchWorker> {
  const claiming = await connect(url);
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => attemptsOn(url)));
  const store = engineStoreOn(claiming);
  const claimed: ClaimedRow[] = [];
  let due: { id: number; epoch: number }[] = [];
  let refill: Promise<void> | undefined;

  const claim = async (): Promise<void> => {
    const page = due.splice(0, PAGE);
    hears.claimed();
    const rows = await store.claim(
      page.map((row) => ({ ...row, leaseMs: LEASE_MS, maxAttempts: ATTEMPTS_MAX, fenced: true })),
    );
    claimed.push(...rows);
    refill = undefined;
  };
  const next = async (): Promise<ClaimedRow | undefined> => {
    while (claimed.length === 0 && (due.length > 0 || refill !== undefined)) {
      await (refill ??= claim());
    }
    const row = claimed.shift();
    if (claimed.length < PAGE / 2 && due.length > 0) refill ??= claim();
    return row;
  };
  const attemptAll = async (attempt: (row: ClaimedRow, n: number) => Promise<void>) => {
    for (let row = await next(); row !== undefined; row = await next()) {
      const { n } = JSON.parse(row.payload) as { n: number };
      hears.handled(n, row.due_ms);
      await attempt(row, n);
      hears.settled();
    }
  };
  let working: Promise<unknown> | undefined;
  return {
    async start() {
      due = await dueOn(claiming);
      working = Promise.all(sessions.map(({ attempt }) => attemptAll(attempt)));
    },
    async stop() {
      await working;
      await Promise.all([claiming, ...sessions.map(({ client }) => client)].map((c) => c.end()));
    },
  };
}

async function attemptsOn(url: string) {
  const client = await connect(url);
  const tables = qualifiedTables('delay_queue');
  await client.query(`PREPARE remove AS ${removeOneSql(tables, 'ends')}`);
  const attempt = async ({ id, epoch }: ClaimedRow, n: number): Promise<void> => {
    await client.query('BEGIN');
    const closed = await client.query(ORDERS.close, [n]);
    const [removed] = await answers(client, `EXECUTE remove(${id}, ${epoch}, 0); COMMIT`);
    if (closed.rowCount !== 1 || removed?.rowCount !== 1) throw new Error(`${id} was not closed`);
  };
  return { client, attempt };
}

const QUERY_TIMEOUT_MS = 15_000;

/** The engine's statements on one session, without the engine. */
function engineStoreOn(client: Client): AttemptStore {
  const prepared = new PreparedStatements(engineSettings(QUERY_TIMEOUT_MS));
  prepared.use();
  const runner = {
    query: async <Row>(sql: string, parameters: unknown[]): Promise<Row[]> => {
      await prepared.applySettings(client);
      return prepared.run<Row>(client, sql, parameters);
    },
  };
  return new AttemptStore(runner, 'delay_queue', 'ends', 'bench');
}

/** What can be claimed now, in the order in which the engine would. */
async function dueOn(client: Client): Promise<{ id: number; epoch: number }[]> {
  const { rows } = await client.query<{ due: string }>(
    `SELECT json_agg(json_build_object('id', id, 'epoch', epoch) ORDER BY wake_at, id)::text AS due
     FROM delay_queue.delay WHERE wake_at <= clock_timestamp()`,
  );
  return JSON.parse(rows[0]?.due ?? '[]') as { id: number; epoch: number }[];
}

/** Of several statements in one message. */
const answers = async (client: Client, text: string): Promise<QueryResult[]> =>
  (await client.query(text)) as unknown as QueryResult[];
