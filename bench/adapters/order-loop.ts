import { connect } from '../server/bench-server.js';
import type { BenchWorker, Hears, Running } from './adapter.js';
import { OURS } from './ours.js';
import type { PeerAdapter } from './peer.js';
import { openShop, ORDERS, POOL_MAX } from './orders.js';

/**
 * The floor: a loop that is told all orders beforehand and closes each in a transaction of its own. Nothing is claimed,
 * fenced or removed, and a crash would lose what is left.
 */
export const ORDER_LOOP: PeerAdapter = {
  ...OURS,
  name: 'no queue',
  settings: `no queue: dataSource.transaction in a loop, ${POOL_MAX} at a time, of orders that it knows beforehand`,
  onlyByName: 'it is no queue, it is the transaction that each order needs in any case',
  missing: () => [],
  handlers: ['close'],
  takesConcurrency: false,
  prepare: async () => {},
  fill: async () => {},
  left,
  openWorker,
};

async function openWorker(url: string, _running: Running, hears: Hears): Promise<BenchWorker> {
  const [shop, client] = await Promise.all([openShop(url), connect(url)]);
  const { rows } = await client.query<{ n: number; placed_ms: number }>(
    'SELECT n, extract(epoch FROM placed_at)::float8 * 1000 AS placed_ms FROM bench_order ORDER BY n',
  );
  await client.end();
  const closeNext = async (): Promise<void> => {
    for (let next = rows.pop(); next !== undefined; next = rows.pop()) {
      hears.handled(next.n, next.placed_ms);
      await shop.close(next.n);
      hears.settled();
    }
  };
  let running: Promise<unknown> | undefined;
  return {
    async start() {
      running = Promise.all(Array.from({ length: POOL_MAX }, closeNext));
    },
    async stop() {
      await running;
      await shop.end();
    },
  };
}

async function left(url: string): Promise<number> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ count: number }>(ORDERS.open);
    return rows[0]?.count ?? Number.NaN;
  } finally {
    await client.end();
  }
}
