import type { Client } from 'pg';
import { PreparedStatements } from '../../src/delay-queue/database/prepared-statements.js';
import { engineSettings } from '../../src/delay-queue/database/session-settings.js';
import { AttemptStore } from '../../src/delay-queue/store/attempt.store.js';
import type { ClaimedRow } from '../../src/delay-queue/store/wire/attempt-rows.js';
import { connect } from '../server/bench-server.js';
import type { BenchWorker, Hears, Running } from './adapter.js';
import { OURS_WITHOUT_HISTORY } from './ours.js';
import type { PeerAdapter } from './peer.js';

const PAGE = 500;
const CLAIMS_MAX = 2;
const [LEASE_MS, ATTEMPTS_MAX] = [30_000, 10];
const QUERY_TIMEOUT_MS = 15_000;

/**
 * The engine's claim and removal, and no engine: what a drain would take if all that a node does around these two
 * cost nothing. One process, and what was due at its start.
 */
export const STATEMENTS_ALONE: PeerAdapter = {
  ...OURS_WITHOUT_HISTORY,
  name: 'statements alone',
  settings: `statements alone: the engine's claim and removal of ${PAGE} rows, ${CLAIMS_MAX} claims and a removal on their way`,
  onlyByName: "it is no queue, it shows what the engine's two statements take",
  missing: () => [],
  handlers: ['async'],
  takesConcurrency: false,
  openWorker,
};

async function openWorker(url: string, _running: Running, hears: Hears): Promise<BenchWorker> {
  const clients = await Promise.all(Array.from({ length: CLAIMS_MAX + 1 }, () => connect(url)));
  const [removals, ...claims] = clients.map(storeOn) as [AttemptStore, ...AttemptStore[]];
  const run = async ({ payload, due_ms: dueMs }: ClaimedRow): Promise<void> =>
    hears.handled((JSON.parse(payload) as { n: number }).n, dueMs);
  let due: { id: number; epoch: number }[] = [];
  let done: ClaimedRow[] = [];
  let removing: Promise<void> | undefined;

  const removeAll = async (): Promise<void> => {
    while (done.length > 0) {
      const page = done.splice(0, PAGE);
      await removals.complete(page.map(({ id, epoch }) => ({ id, epoch, latenessMs: 0 })));
      for (const _ of page) hears.settled();
    }
    removing = undefined;
  };
  const claimAll = async (store: AttemptStore): Promise<void> => {
    while (due.length > 0) {
      const page = due.splice(0, PAGE);
      const rows = await store.claim(
        page.map((row) => ({ ...row, leaseMs: LEASE_MS, maxAttempts: ATTEMPTS_MAX })),
      );
      await Promise.all(rows.map(run));
      done = done.concat(rows);
      removing ??= removeAll();
    }
  };
  let working: Promise<unknown> | undefined;
  return {
    async start() {
      due = await dueOn(clients[0]!);
      working = Promise.all(claims.map(claimAll));
    },
    async stop() {
      await working;
      await removing;
      await Promise.all(clients.map((client) => client.end()));
    },
  };
}

function storeOn(client: Client): AttemptStore {
  const prepared = new PreparedStatements(engineSettings(QUERY_TIMEOUT_MS));
  prepared.use();
  const runner = {
    query: async <Row>(sql: string, parameters: unknown[]): Promise<Row[]> => {
      await prepared.applySettings(client);
      return prepared.run<Row>(client, sql, parameters);
    },
  };
  return new AttemptStore(runner, 'delay_queue', 'nothing', 'bench');
}

async function dueOn(client: Client): Promise<{ id: number; epoch: number }[]> {
  const { rows } = await client.query<{ due: string }>(
    `SELECT json_agg(json_build_object('id', id, 'epoch', epoch) ORDER BY wake_at, id)::text AS due
     FROM delay_queue.delay WHERE wake_at <= clock_timestamp()`,
  );
  return JSON.parse(rows[0]?.due ?? '[]') as { id: number; epoch: number }[];
}
