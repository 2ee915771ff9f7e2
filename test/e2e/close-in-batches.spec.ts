import { expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { Client } from 'pg';
import type { PlacedOrder } from '../../src/shop/orders/orders.schemas.js';
import { RunningShop } from './support/running-shop.js';

const shop = RunningShop.forAll();

/** In id order, as a batch locks them. Each is of both SKUs, by turns named first. */
async function placeInOrder(count: number, skus: readonly string[]): Promise<PlacedOrder[]> {
  const orders: PlacedOrder[] = [];
  for (let made = 0; made < count; made += 1) {
    const items = (made % 2 ? skus : skus.toReversed()).map((sku) => ({ sku, quantity: 1 }));
    const { body } = await shop.post('/orders', { items });
    orders.push(body as PlacedOrder);
  }
  return orders.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** All of them due at once, and so in one batch. */
async function closeAll(orders: readonly PlacedOrder[], poison?: string): Promise<void> {
  await shop.app.get(DelayService).scheduleMany(
    orders.map(({ id }) => ({
      name: 'order.close',
      payload: { orderId: id === poison ? 'no uuid' : id },
      key: id,
      after: 0,
    })),
  );
}

const statusesOf = async (orders: readonly PlacedOrder[]): Promise<string[]> =>
  Promise.all(orders.map(async ({ id }) => (await shop.order(id)).status));

it('payments that meet a closing batch: it has the orders it came to first, they have the others', async () => {
  const skus = [await shop.newSku({ stock: 20 }), await shop.newSku({ stock: 20 })];
  const orders = await placeInOrder(8, skus);
  const [early, held, late] = [orders.slice(0, 3), orders[3]!, orders.slice(4)];

  // Stops the batch in the middle: it has locked the first orders, and not the last ones.
  const session = new Client({ connectionString: shop.database.url });
  await session.connect();
  try {
    await session.query('BEGIN');
    await session.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [held.id]);
    await closeAll(orders);
    await shop.untilWaiting(1);

    const inTime = await Promise.all(late.map(({ id, total }) => shop.callback(id, total)));
    expect(inTime.map(({ body }) => body.status)).toEqual(late.map(() => 'CAPTURED'));
    const tooLate = early.map(({ id, total }) => shop.callback(id, total));
    await shop.untilWaiting(1 + early.length);
    await session.query('COMMIT');

    const answers = await Promise.all(tooLate);
    expect(answers.map(({ body }) => body.status)).toEqual(early.map(() => 'REFUND_PENDING'));
  } finally {
    await session.end();
  }

  await Promise.all(
    early.map(({ id }) => shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED')),
  );
  expect(await statusesOf([...early, held])).toEqual(['CLOSED', 'CLOSED', 'CLOSED', 'CLOSED']);
  expect(await statusesOf(late)).toEqual(['PAID', 'PAID', 'PAID', 'PAID']);
  expect(await Promise.all(skus.map((sku) => shop.stockOf(sku)))).toEqual([16, 16]);
});

it('a closing batch waits for a SKU with those before it locked, and none behind it', async () => {
  const skus: string[] = [];
  for (let made = 0; made < 8; made += 1) skus.push(await shop.newSku());
  const orders = await placeInOrder(4, skus);
  const inOrder = skus.toSorted();
  // They lie in the opposite order, and the planner, who knows how few they are, reads them so.
  for (const sku of inOrder.toReversed()) {
    await shop.sql('UPDATE sku SET stock = stock WHERE sku = $1', [sku]);
  }
  await shop.sql('ANALYZE sku, order_item');
  const held = inOrder[3]!;

  const session = new Client({ connectionString: shop.database.url });
  await session.connect();
  try {
    await session.query('BEGIN');
    await session.query('SELECT FROM sku WHERE sku = $1 FOR UPDATE', [held]);
    await closeAll(orders);
    await shop.untilWaiting(1);

    const free = await shop.sql<{ sku: string }[]>(
      `SELECT sku FROM sku WHERE sku = ANY ($1) ORDER BY sku FOR UPDATE SKIP LOCKED`,
      [inOrder],
    );
    expect(free.map(({ sku }) => sku)).toEqual(inOrder.slice(4));
    await session.query('COMMIT');
  } finally {
    await session.end();
  }

  for (const { id } of orders) await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
  expect(await Promise.all(skus.map((sku) => shop.stockOf(sku)))).toEqual(skus.map(() => 10));
});

it('closes the others of a batch in which one order cannot be closed', async () => {
  const skus = [await shop.newSku(), await shop.newSku()];
  const orders = await placeInOrder(5, skus);
  const [poison, ...others] = orders as [PlacedOrder, ...PlacedOrder[]];
  await closeAll(orders, poison.id);

  for (const { id } of others) await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
  const { status, delays } = await shop.orderWhen(
    poison.id,
    (order) => order.delays[0]?.state === 'retrying',
  );
  expect(status).toBe('UNPAID');
  expect(delays).toHaveLength(1);
  for (const { id } of others) {
    const [close] = await shop.app.get(DelayService).history('order.close', id);
    expect(close).toMatchObject({ state: 'completed', attempts: 1 });
  }
  expect(await Promise.all(skus.map((sku) => shop.stockOf(sku)))).toEqual([9, 9]);
});
