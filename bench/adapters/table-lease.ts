import { connect, withClient } from '../server/bench-server.js';
import type { Adapter, BenchWorker, Hears, Running } from './adapter.js';
import { pollingWorker } from './poller.js';
import { TABLE_POLL } from './table-poll.js';

const TICK_MS = 1_000;
const PAGE = 500;
const LEASE_MS = 30_000;
/** Removals that are on their way while the next page is claimed. */
const REMOVALS_MAX = 3;

/**
 * The floor under whatever keeps a lease: two bare statements for a page of rows, and nothing else that a queue does.
 * A crash loses nothing, and that is all it promises: no attempt is counted, nothing is fenced, retried or cancelled,
 * no lease is renewed, and nothing is heard before the next tick.
 */
export const TABLE_LEASE: Adapter = {
  ...TABLE_POLL,
  name: 'table lease',
  settings:
    `table lease: every ${TICK_MS} ms UPDATE … RETURNING of ${PAGE} rows (SKIP LOCKED, no index changed), ` +
    `at once again while pages are full; DELETE of a page when its handlers are done, ${REMOVALS_MAX} on their way`,
  onlyByName: 'it is no queue, it shows what two statements take',
  handlers: ['async'],
  async prepare(url) {
    await TABLE_POLL.prepare(url);
    await withClient(url, async (client) => {
      await client.query(
        'ALTER TABLE poll_delay ADD leased_until timestamptz, SET (fillfactor = 50)',
      );
    });
  },
  openWorker,
};

const CLAIM = {
  name: 'claim',
  text: `
WITH page AS MATERIALIZED (
  SELECT ctid FROM poll_delay
  WHERE due_at <= (SELECT clock_timestamp())
    AND (leased_until IS NULL OR leased_until < (SELECT clock_timestamp()))
  ORDER BY due_at
  LIMIT ${PAGE}
  FOR UPDATE SKIP LOCKED
)
UPDATE poll_delay d SET leased_until = clock_timestamp() + interval '${LEASE_MS} milliseconds'
FROM page WHERE d.ctid = page.ctid
RETURNING d.id, d.payload, extract(epoch FROM d.due_at)::float8 * 1000 AS due_ms`,
};

const REMOVE = { name: 'remove', text: 'DELETE FROM poll_delay WHERE id = ANY ($1::bigint[])' };

type Row = { id: string; payload: { n: number }; due_ms: number };

async function openWorker(url: string, _running: Running, hears: Hears): Promise<BenchWorker> {
  const [claims, ...removals] = await Promise.all(
    Array.from({ length: 1 + REMOVALS_MAX }, () => connect(url)),
  );
  const run = async ({ payload, due_ms: dueMs }: Row): Promise<void> =>
    hears.handled(payload.n, dueMs);
  const under = new Set<Promise<void>>();

  const remove = async (ids: readonly string[]): Promise<void> => {
    const client = removals.pop()!;
    await client.query({ ...REMOVE, values: [ids] });
    removals.push(client);
    for (let settled = 0; settled < ids.length; settled += 1) hears.settled();
  };
  const takePage = async (): Promise<boolean> => {
    const { rows } = await claims!.query<Row>(CLAIM);
    await Promise.all(rows.map(run));
    if (under.size === REMOVALS_MAX) await Promise.race(under);
    const removing = remove(rows.map(({ id }) => id)).finally(() => under.delete(removing));
    under.add(removing);
    return rows.length === PAGE;
  };
  return pollingWorker({
    tickMs: TICK_MS,
    takePage,
    async close() {
      await Promise.all(under);
      await Promise.all([claims!, ...removals].map((client) => client.end()));
    },
  });
}
