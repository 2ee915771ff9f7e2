import type { Client } from 'pg';
import type { OrderStatus } from '../../shop/orders/order.entity.js';
import type { PaymentStatus } from '../../shop/payments/payment.entity.js';

export interface PicturedOrder {
  id: string;
  no: number;
  status: OrderStatus;
  payDeadlineMs: number;
  paidAtMs: number | null;
  closedAtMs: number | null;
}

export interface PicturedPayment {
  orderId: string;
  transaction: string;
  status: PaymentStatus;
  amount: number;
  capturedAtMs: number;
}

/** The state of the database when the race is over. */
export interface Picture {
  nowMs: number;
  orders: PicturedOrder[];
  payments: PicturedPayment[];
  stock: { sku: string; stock: number; initialStock: number }[];
  /** Which process reports which order closed; one entry for each close. */
  closes: { orderId: string; by: string }[];
}

const ms = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

export async function pictureOf(client: Client): Promise<Picture> {
  const all = async <Row>(sql: string): Promise<Row[]> => (await client.query(sql)).rows as Row[];
  await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`);
  try {
    const [now] = await all<{ now: number }>(`SELECT ${ms('clock_timestamp()')} AS now`);
    return {
      nowMs: now!.now,
      orders: await all(
        `SELECT id, no, status, ${ms('pay_deadline')} AS "payDeadlineMs",
                ${ms('paid_at')} AS "paidAtMs", ${ms('closed_at')} AS "closedAtMs"
         FROM orders ORDER BY no`,
      ),
      payments: await all(
        `SELECT order_id AS "orderId", transaction, status, amount,
                ${ms('captured_at')} AS "capturedAtMs"
         FROM payment ORDER BY captured_at`,
      ),
      stock: await all(`SELECT sku, stock, initial_stock AS "initialStock" FROM sku ORDER BY sku`),
      // A close that came second found a paid order and closed nothing.
      closes: await all(
        `SELECT key AS "orderId", node AS by FROM delay_queue.history JOIN orders ON key = orders.id::text
         WHERE name = 'order.close' AND state = 'completed' AND paid_at IS NULL ORDER BY ended_at`,
      ),
    };
  } finally {
    await client.query(`COMMIT`);
  }
}
