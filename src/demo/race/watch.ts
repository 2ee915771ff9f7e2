import type { Client } from 'pg';
import type { Arrival } from './buyers.js';

const EVERY_MS = 100;
const ARRIVALS = 15;

/** How many orders and payments are in each state. */
export interface Counts {
  unpaid: number;
  paid: number;
  closed: number;
  refundPending: number;
  refunded: number;
  /** The latest payments. */
  arrivals: Arrival[];
}

export async function countsOf(client: Client): Promise<Counts> {
  const { rows } = await client.query<Counts>(
    `SELECT orders.*, payment.*, arrivals FROM
       (SELECT count(*) FILTER (WHERE status = 'UNPAID')::int AS unpaid,
               count(*) FILTER (WHERE status = 'PAID')::int AS paid,
               count(*) FILTER (WHERE status = 'CLOSED')::int AS closed FROM orders) AS orders,
       (SELECT count(*) FILTER (WHERE status = 'REFUND_PENDING')::int AS "refundPending",
               count(*) FILTER (WHERE status = 'REFUNDED')::int AS refunded FROM payment) AS payment,
       (SELECT coalesce(json_agg(last), '[]') AS arrivals
        FROM (SELECT transaction, extract(epoch FROM captured_at) * 1000 AS "capturedAtMs"
              FROM payment ORDER BY captured_at DESC LIMIT ${ARRIVALS}) AS last) AS arrived`,
  );
  return rows[0]!;
}

/** Polls the database several times a second. @returns stops it */
export function watch(client: Client, seen: (counts: Counts) => void): () => void {
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    countsOf(client)
      .then(seen)
      // The race itself meets the same error.
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  }, EVERY_MS);
  return () => clearInterval(timer);
}

/** Polls until nothing is left to do, or nothing has changed for `patienceMs`. */
export function settled(
  client: Client,
  patienceMs: number,
  seen: (counts: Counts) => void,
): Promise<void> {
  let before = '';
  let sinceMs = performance.now();
  return new Promise((resolve) => {
    const end = watch(client, (counts) => {
      seen(counts);
      const now = JSON.stringify(counts);
      if (now !== before) sinceMs = performance.now();
      before = now;
      const isDone = counts.unpaid === 0 && counts.refundPending === 0;
      if (!isDone && performance.now() - sinceMs < patienceMs) return;
      end();
      resolve();
    });
  });
}
