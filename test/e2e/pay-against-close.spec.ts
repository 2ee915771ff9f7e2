import { expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { setTimeout as pause } from 'node:timers/promises';
import { placedOrder, type PlacedOrder } from '../../src/shop/orders/orders.schemas.js';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

const ORDERS = 400;
const PLACING_AT_ONCE = 40;
const HEAD_START_MS = 2_000;
/** Payments arrive from so long before the deadline to so long after it. */
const BEFORE_MS = 1_000;
const AFTER_MS = 1_000;

interface Tally {
  unpaid: number;
  pending: number;
  paid: number;
  closed: number;
  refunded: number;
  paidWithout: number;
  deadlocks: number;
}

it('pay against close: no order closed though paid, no deadlock, stock exact', async () => {
  const shop = await RunningShop.open();
  try {
    const skus = await Promise.all([1, 2, 3].map(() => shop.newSku({ stock: ORDERS })));
    const orders = await placeAll(shop, skus);
    const deadlineMs = await allDueAtOnce(shop, orders);

    const statuses = await Promise.all(
      orders.map((order, i) => payAtTheDeadline(shop, order, deadlineMs, i)),
    );

    expect(statuses.flat().filter((status) => status >= 500)).toEqual([]);
    const end = await until(
      () => tally(shop),
      ({ unpaid, pending }) => unpaid === 0 && pending === 0,
      { withinMs: 90_000 },
    );
    expect(end.paid + end.closed).toBe(ORDERS);
    expect(end.paidWithout).toBe(0);
    expect(end.deadlocks).toBe(0);
    // Every fifth order is never paid; of the others both sides must have won some.
    expect(end.closed).toBeGreaterThanOrEqual(ORDERS / 5);
    expect(end.paid).toBeGreaterThan(0);
    expect(end.refunded).toBeGreaterThan(0);
    expect(await shop.broken()).toEqual([]);
  } finally {
    await shop.close();
  }
}, 180_000);

/** Two SKUs per order, in every order of the two: what deadlocks when the locks are not sorted. */
async function placeAll(shop: RunningShop, skus: string[]): Promise<PlacedOrder[]> {
  const placed: PlacedOrder[] = [];
  while (placed.length < ORDERS) {
    const batch = Array.from({ length: PLACING_AT_ONCE }, async (_, i) => {
      const items = [skus[i % 3], skus[(i + 1 + (i % 2)) % 3]].map((sku) => ({ sku, quantity: 1 }));
      const { body } = await shop.post('/orders', { items });
      return placedOrder.parse(body);
    });
    placed.push(...(await Promise.all(batch)));
  }
  return placed;
}

/** Placing takes longer than an instant, so the deadlines are moved to one afterwards. */
async function allDueAtOnce(shop: RunningShop, orders: PlacedOrder[]): Promise<number> {
  const at = new Date(Date.now() + HEAD_START_MS);
  await shop.sql(`UPDATE orders SET pay_deadline = $1`, [at]);
  await shop.app
    .get(DelayService)
    .scheduleMany(
      orders.map(({ id }) => ({ name: 'order.close', payload: { orderId: id }, key: id, at })),
    );
  return at.getTime();
}

/** By turns: nothing, a callback, the same one twice at once, a click beside a callback, a click. */
async function payAtTheDeadline(
  shop: RunningShop,
  { id, total }: PlacedOrder,
  deadlineMs: number,
  turn: number,
): Promise<number[]> {
  const atMs = deadlineMs + ((turn * 7) % (BEFORE_MS + AFTER_MS)) - BEFORE_MS;
  await pause(Math.max(0, atMs - Date.now()));
  const callback = () => shop.callback(id, total, `tx-${id}`);
  const click = () => shop.post(`/orders/${id}/pay`);
  const turns = [[], [callback], [callback, callback], [click, callback], [click]];
  const attempts = turns[turn % turns.length] ?? [];
  const answers = await Promise.all(attempts.map((attempt) => attempt()));
  return answers.map(({ status }) => status);
}

async function tally(shop: RunningShop): Promise<Tally> {
  const [row] = await shop.sql<Tally[]>(
    `SELECT (SELECT count(*)::int FROM orders WHERE status = 'UNPAID') AS unpaid,
            (SELECT count(*)::int FROM payment WHERE status = 'REFUND_PENDING') AS pending,
            (SELECT count(*)::int FROM orders WHERE status = 'PAID') AS paid,
            (SELECT count(*)::int FROM orders WHERE status = 'CLOSED') AS closed,
            (SELECT count(*)::int FROM payment WHERE status = 'REFUNDED') AS refunded,
            (SELECT count(*)::int FROM orders WHERE status = 'PAID' AND 1 <> (
               SELECT count(*) FROM payment
               WHERE order_id = orders.id AND payment.status = 'CAPTURED')) AS "paidWithout",
            (SELECT deadlocks::int FROM pg_stat_database
             WHERE datname = current_database()) AS deadlocks`,
  );
  return row!;
}
