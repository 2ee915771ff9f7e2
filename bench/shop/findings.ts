import type { Client } from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import type { Invariants } from '../../src/shop/invariants/invariants.schemas.js';
import { numberOf } from '../server/bench-server.js';
import type { ShopClient } from './client.js';

const LOOK_EVERY_MS = 250;

/** Nothing has ended for so long: what waits still will not end by itself. */
const GIVE_UP_AFTER_MS = 30_000;

/** The delays of an order that is not shipped, and what its buyer is told. */
const TIMERS = ['order.sms', 'order.remind', 'order.close', 'message.send', 'payment.refund'];

/** How late the handlers of one name began. */
export interface TimerLateness {
  name: string;
  fired: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

const ALL_TIMERS = 'all of them';

/** What became of the orders. */
export interface OrderCounts {
  placed: number;
  paid: number;
  closed: number;
  refunded: number;
}

/** Waits until no timer of these orders is left. @returns how many are, when they do not end */
export async function awaitTimers(client: Client): Promise<number> {
  let [least, progressAtMs] = [Infinity, performance.now()];
  for (;;) {
    const left = await numberOf(
      client,
      'SELECT count(*)::int FROM delay_queue.delay WHERE name = ANY ($1)',
      [TIMERS],
    );
    if (left === 0) return 0;
    if (left < least) [least, progressAtMs] = [left, performance.now()];
    if (performance.now() - progressAtMs > GIVE_UP_AFTER_MS) return left;
    await pause(LOOK_EVERY_MS);
  }
}

/** Milliseconds since 1970. */
export const databaseNow = (client: Client): Promise<number> =>
  numberOf(client, 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000');

/** By the library's own history, of delays that ended since then. */
export async function latenessSince(client: Client, sinceMs: number): Promise<TimerLateness[]> {
  const { rows } = await client.query<TimerLateness>(
    `SELECT coalesce(name, '${ALL_TIMERS}') AS name, count(*)::int AS fired,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY lateness_ms)::float8 AS "p50Ms",
            percentile_cont(0.99) WITHIN GROUP (ORDER BY lateness_ms)::float8 AS "p99Ms",
            max(lateness_ms)::float8 AS "maxMs"
     FROM delay_queue.history
     WHERE state = 'completed' AND ended_at >= to_timestamp($1::float8 / 1000) AND name = ANY ($2)
     GROUP BY GROUPING SETS ((name), ())
     ORDER BY array_position($2, history.name) NULLS LAST`,
    [sinceMs, TIMERS],
  );
  return rows;
}

export async function countOrders(client: Client): Promise<OrderCounts> {
  const { rows } = await client.query<OrderCounts>(
    `SELECT count(*)::int AS placed,
            count(*) FILTER (WHERE status = 'PAID')::int AS paid,
            count(*) FILTER (WHERE status = 'CLOSED')::int AS closed,
            (SELECT count(*)::int FROM payment WHERE status = 'REFUNDED') AS refunded
     FROM orders`,
  );
  return rows[0] ?? { placed: 0, paid: 0, closed: 0, refunded: 0 };
}

/** By the shop's own account. @returns those that do not hold */
export async function brokenInvariants(client: ShopClient): Promise<string[]> {
  const { status, body } = await client.send('GET', '/invariants');
  if (status !== 200) return [`GET /invariants answered ${status}`];
  const { checks } = JSON.parse(body) as Invariants;
  return checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
}
