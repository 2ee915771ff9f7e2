import { runMigrations } from 'nestjs-delay-queue';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { numberOf, withClient } from '../server/bench-server.js';

/** Orders are numbered; an id says which it is. */
const ID_PREFIX = '00000000-0000-4000-8000-';
const ID_DIGITS = 12;

/** An order has two lines, of different SKUs. */
const LINES = 2;

/** The number of the order that {@link placeOrders} gave that id. */
export const orderNumberOf = (orderId: string): number =>
  Number.parseInt(orderId.slice(ID_PREFIX.length), 16);

/** The id of the SKU that {@link stockShop} gave that number. */
export const skuOf = (n: number): string => `SKU-${String(n).padStart(6, '0')}`;

/** Builds the tables of the sample shop, with so many SKUs that never run out. */
export async function buildShop(url: string, skus: number): Promise<void> {
  const { databaseOptions } = await import('../../src/app.module.js');
  const source = await new DataSource(databaseOptions(url)).initialize();
  try {
    await runMigrations(source);
  } finally {
    await source.destroy();
  }
  await withClient(url, (client) => stockShop(client, skus));
}

/** Something to sell, in place of the shop's own five. */
export async function stockShop(client: Client, skus: number): Promise<void> {
  await client.query(`DELETE FROM sku`);
  await client.query(
    `INSERT INTO sku (sku, name, price, stock, initial_stock)
     SELECT 'SKU-' || lpad(i::text, 6, '0'), 'Article ' || i, 1000, 1000000, 1000000
     FROM generate_series(0, $1::int - 1) AS i`,
    [skus],
  );
}

interface Placing {
  orders: number;
  skus: number;
  leadMs: number;
  /** Whether each has one. */
  delays: boolean;
}

/**
 * Writes unpaid orders as `PlaceOrderService` leaves them: lines, stock taken, a keyed delay. Their
 * deadlines lie evenly in the second that begins `leadMs` from now.
 */
export async function placeOrders(
  client: Client,
  { orders, skus, leadMs, delays }: Placing,
): Promise<void> {
  await client.query('BEGIN');
  const firstMs = await numberOf(
    client,
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 + $1::float8',
    [leadMs],
  );
  await client.query(
    `INSERT INTO orders (id, status, total, merchant_id, pay_deadline, confirm_after_ms, rate_after_ms)
     SELECT ${ID}, 'UNPAID', ${LINES} * 1000, 'tea-house', ${DEADLINE}, 1209600000, 172800000
     FROM generate_series(0, $1::int - 1) AS n`,
    [orders, firstMs],
  );
  await client.query(
    `INSERT INTO order_item (order_id, sku, name, price, quantity)
     SELECT ${ID}, sku.sku, sku.name, sku.price, 1
     FROM generate_series(0, $1::int - 1) AS n,
          generate_series(0, ${LINES - 1}) AS line,
          LATERAL (SELECT * FROM sku
                   WHERE sku = 'SKU-' || lpad(((n * 7 + line * 13) % $2::int)::text, 6, '0')) AS sku`,
    [orders, skus],
  );
  await client.query(
    `UPDATE sku SET stock = stock - taken
     FROM (SELECT sku, sum(quantity) AS taken FROM order_item GROUP BY sku) AS held
     WHERE held.sku = sku.sku`,
  );
  if (delays) await client.query(DELAY_EACH);
  await client.query('COMMIT');
  await client.query('VACUUM (ANALYZE)');
}

const DELAY_EACH = `
     INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'order.close', id::text, jsonb_build_object('orderId', id), pay_deadline, pay_deadline,
            clock_timestamp()
     FROM orders`;

const ID = `('${ID_PREFIX}' || lpad(to_hex(n), ${ID_DIGITS}, '0'))::uuid`;

/** Whole milliseconds, as the delay queue keeps them. */
const DEADLINE = `to_timestamp(($2::float8 + floor(n * 1000.0 / $1::int)) / 1000)`;
