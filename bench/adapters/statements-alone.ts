import type { AttemptStore } from '../../src/delay-queue/store/attempt.store.js';
import type { ClaimedRow } from '../../src/delay-queue/store/rows/attempt-rows.js';
import { connect } from '../server/bench-server.js';
import type { BenchWorker, Hears, Running } from './adapter.js';
import { dueOn, engineStoreOn } from './engine-store.js';
import { OURS_WITHOUT_HISTORY } from './ours.js';
import type { PeerAdapter } from './peer.js';

const PAGE = 500;
const CLAIMS_MAX = 2;
const [LEASE_MS, ATTEMPTS_MAX] = [30_000, 10];

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
  const [removals, ...claims] = clients.map((client) => engineStoreOn(client, 'nothing')) as [
    AttemptStore,
    ...AttemptStore[],
  ];
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
