import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';

const ORDERS = `
  SELECT o.id::text, o.code, o.state,
    (SELECT count(*)::int FROM payment WHERE "orderId" = o.id AND state = 'Settled') AS payments,
    (SELECT count(*)::int FROM history_entry WHERE "orderId" = o.id
      AND type = 'ORDER_STATE_TRANSITION' AND data::jsonb ->> 'from' = 'ArrangingPayment') AS ends
  FROM "order" o WHERE o.state <> 'AddingItems'`;

const STOCK = `
  SELECT v.sku, s."stockAllocated" AS allocated,
    (SELECT coalesce(sum(l.quantity), 0)::int FROM order_line l JOIN "order" o ON o.id = l."orderId"
      WHERE l."productVariantId" = v.id AND o.state = 'PaymentSettled') AS sold
  FROM stock_level s JOIN product_variant v ON v.id = s."productVariantId" ORDER BY v.sku`;

/** By state: how many lines the orders have, and how often those gave their stock back. */
const RELEASES = `
  SELECT o.state, count(r.id)::int AS releases, count(DISTINCT l.id)::int AS lines
  FROM order_line l JOIN "order" o ON o.id = l."orderId"
  LEFT JOIN stock_movement r ON r."orderLineId" = l.id AND r.discriminator = 'Release'
  WHERE o.state <> 'AddingItems' GROUP BY o.state`;

/** What each payment was answered, by the order's id. */
export type Answers = ReadonlyMap<string, string>;

/** What the database says in the end. @throws AssertionError where it is not what a shop may say */
export async function audit(
  database: Pool,
  placed: readonly { id: string }[],
  answers: Answers,
  charges: string,
): Promise<string> {
  const { rows: orders } = await database.query(ORDERS);
  assert.deepEqual(new Set(orders.map(({ id }) => id)), new Set(placed.map(({ id }) => id)));
  const charged = (await readFile(charges, 'utf8')).trim().split('\n');
  for (const { id, code, state, payments, ends } of orders) {
    const isPaid = answers.get(id) === 'Order';
    const taken = charged.filter((charge) => charge.startsWith(`${code} `)).length;
    assert.deepEqual(
      { code, state, payments, taken, ends },
      isPaid
        ? { code, state: 'PaymentSettled', payments: 1, taken: 1, ends: 1 }
        : { code, state: 'Cancelled', payments: 0, taken: 0, ends: 1 },
    );
  }
  const { rows: stock } = await database.query(STOCK);
  for (const { sku, allocated, sold } of stock) {
    assert.deepEqual({ sku, allocated }, { sku, allocated: sold });
  }
  for (const { state, releases, lines } of (await database.query(RELEASES)).rows) {
    assert.equal(releases, state === 'Cancelled' ? lines : 0, `releases of ${state} orders`);
  }
  const paid = orders.filter(({ state }) => state === 'PaymentSettled').length;
  assert.ok(paid > 0 && paid < answers.size, `${paid} of ${answers.size} payments won`);
  const allocations = stock.map(({ sku, allocated }) => `${sku} ${allocated}`).join(', ');
  return `${paid} paid, ${orders.length - paid} closed, none both; allocated as sold: ${allocations}`;
}
