import type { Client } from 'pg';
import { INVARIANTS } from '../../src/shop/invariants/invariants.sql.js';

/** How late the orders were closed, as the shop's own rows say. */
export interface Closing {
  p50Ms: number;
  p99Ms: number;
  lastMs: number;
  /** From the first deadline to the last close. */
  elapsedMs: number;
}

/** All of the shop's but one: the messages of a burst are written, and nobody is there to send them. */
const { 'every message is sent or dropped, or waits to be sent': _, ...INVARIANTS_OF_A_BURST } =
  INVARIANTS;

/** What must hold of a burst beside the shop's invariants; each answers how many break it. */
const MUST_HOLD: Record<string, string> = {
  'every order is closed': `SELECT count(*)::int AS broken FROM orders WHERE status <> 'CLOSED'`,
  'every order is closed once': `
    SELECT count(*)::int AS broken
    FROM (SELECT orders.id FROM orders LEFT JOIN outbox
            ON outbox.order_id = orders.id AND outbox.kind = 'order.closed'
          GROUP BY orders.id HAVING count(outbox.id) <> 1) AS miscounted`,
  'no order is closed before its deadline': `
    SELECT count(*)::int AS broken FROM orders WHERE closed_at < pay_deadline`,
  'all stock is back': `SELECT count(*)::int AS broken FROM sku WHERE stock <> initial_stock`,
};

/** Where a queue ran them. */
const MUST_HOLD_OF_DELAYS: Record<string, string> = {
  'no delay is left': `SELECT count(*)::int AS broken FROM delay_queue.delay`,
  'each delay ended as completed, once': `
    SELECT abs(count(*) FILTER (WHERE state = 'completed') - (SELECT count(*) FROM orders))::int
           + count(*) FILTER (WHERE state <> 'completed')::int AS broken
    FROM delay_queue.history`,
};

/** @returns a line for each rule that does not hold; none: all is well */
export async function brokenRules(client: Client, hasQueue: boolean): Promise<string[]> {
  const broken: string[] = [];
  const ofDelays = hasQueue ? MUST_HOLD_OF_DELAYS : {};
  const rules = { ...INVARIANTS_OF_A_BURST, ...MUST_HOLD, ...ofDelays };
  for (const [rule, sql] of Object.entries(rules)) {
    const { rows } = await client.query<{ broken: number }>(sql);
    const count = rows[0]?.broken ?? Number.NaN;
    if (count !== 0) broken.push(`${rule}: ${count} broken`);
  }
  return broken;
}

/** Of `closed_at`, which the handler's own statement wrote, against the order's deadline. */
export async function closingOf(client: Client): Promise<Closing> {
  const { rows } = await client.query<{ p50: number; p99: number; last: number; elapsed: number }>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY late_ms) AS p50,
            percentile_cont(0.99) WITHIN GROUP (ORDER BY late_ms) AS p99,
            max(late_ms) AS last,
            extract(epoch FROM max(closed_at) - min(pay_deadline))::float8 * 1000 AS elapsed
     FROM (SELECT closed_at, pay_deadline,
                  extract(epoch FROM closed_at - pay_deadline)::float8 * 1000 AS late_ms
           FROM orders) AS closing`,
  );
  const {
    p50 = Number.NaN,
    p99 = Number.NaN,
    last = Number.NaN,
    elapsed = Number.NaN,
  } = rows[0] ?? {};
  return { p50Ms: p50, p99Ms: p99, lastMs: last, elapsedMs: elapsed };
}
