import type { Client } from 'pg';
import { spread } from '../../delay-queue/core/store/rows/attempt-rows.js';
import type { Closer } from './command-line.js';
import type { Fault, LedgerOrder } from './ledger.js';

/** What a process was working on: orders whose close it had begun, or was to begin. */
export type Hands = Pick<Fault, 'held' | 'owned'>;

interface WaitingClose {
  id: string;
  orderId: string;
  leasedBy: string | null;
}

/** @param name of the process, which is also its node's */
export async function handsOf(
  closer: Closer,
  client: Client,
  { name, process }: { name: string; process: number },
  orders: readonly LedgerOrder[],
): Promise<Hands> {
  if (closer === 'delay-queue') return handsOfNode(client, name);
  // A timer lives where the order was placed; a scan belongs to no process.
  const own = closer === 'naive' ? orders.filter(({ home }) => home === process) : [];
  return { held: [], owned: own.map(({ id }) => id) };
}

/** Orders whose close that node has begun. Polled often, so it must be cheap. */
export async function throttledBy(client: Client, name: string): Promise<string[]> {
  const { rows } = await client.query<{ orderId: string }>({
    name: 'held by',
    text: `SELECT key AS "orderId" FROM delay_queue.delay
           WHERE name = 'order.close' AND leased_by = $1 AND leased_until > clock_timestamp()`,
    values: [name],
  });
  return rows.map(({ orderId }) => orderId);
}

async function handsOfNode(client: Client, name: string): Promise<Hands> {
  const nodes = await client.query<{ id: string }>(
    `SELECT id FROM delay_queue.node WHERE 'order.close' = ANY (names) ORDER BY id COLLATE "C"`,
  );
  const closes = await client.query<WaitingClose>(
    `SELECT id::text, key AS "orderId",
            CASE WHEN leased_until > clock_timestamp() THEN leased_by END AS "leasedBy"
     FROM delay_queue.delay WHERE name = 'order.close'`,
  );
  const rank = nodes.rows.findIndex(({ id }) => id === name);
  const isHeld = ({ leasedBy }: WaitingClose): boolean => leasedBy === name;
  // The same share as the engine's (docs/architecture.md).
  const isOwned = ({ id }: WaitingClose): boolean =>
    spread(Number(id)) % nodes.rows.length === rank;
  const idsOf = (those: readonly WaitingClose[]): string[] => those.map(({ orderId }) => orderId);
  return {
    held: idsOf(closes.rows.filter(isHeld)),
    owned: idsOf(closes.rows.filter((close) => isOwned(close) && close.leasedBy === null)),
  };
}
