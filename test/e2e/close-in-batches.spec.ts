import { expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { PlacedOrder } from '../../src/shop/orders/orders.schemas.js';
import { atOnce } from './support/at-once.js';
import { whileHeld, whileOrderHeld } from './support/faults.js';
import { RunningShop } from './support/running-shop.js';

const shop = RunningShop.forAll();

const newSkus = (count: number): Promise<string[]> => atOnce(count, () => shop.newSku());
const stocksOf = (skus: readonly string[]): Promise<number[]> =>
  Promise.all(skus.map((sku) => shop.stockOf(sku)));

/** In id order, as a batch locks them. Each is of all SKUs, by turns named from the other end. */
async function placeInOrder(count: number, skus: readonly string[]): Promise<PlacedOrder[]> {
  const orders = await atOnce(count, async (made) => {
    const items = (made % 2 ? skus : skus.toReversed()).map((sku) => ({ sku, quantity: 1 }));
    return (await shop.post('/orders', { items })).body as PlacedOrder;
  });
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

async function haveStatus(orders: readonly PlacedOrder[], wanted: string): Promise<void> {
  for (const { id } of orders) await shop.orderWhen(id, ({ status }) => status === wanted);
}

it('payments that meet a closing batch: it has the orders it came to first, they have the others', async () => {
  const skus = await newSkus(2);
  const orders = await placeInOrder(6, skus);
  const [early, held, late] = [orders.slice(0, 2), orders[2]!, orders.slice(3)];

  // Stops the batch in the middle: it has locked the first orders, and not the last ones.
  const tooLate = await whileOrderHeld(shop, held.id, async () => {
    await closeAll(orders);
    await shop.untilWaiting(1);
    for (const { id, total } of late) {
      expect((await shop.callback(id, total)).body.status).toBe('CAPTURED');
    }
    const payments = early.map(({ id, total }) => shop.callback(id, total));
    await shop.untilWaiting(1 + early.length);
    return payments;
  });
  for (const { body } of await Promise.all(tooLate)) expect(body.status).toBe('REFUND_PENDING');

  for (const { id } of early) {
    await shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED');
  }
  await haveStatus([...early, held], 'CLOSED');
  await haveStatus(late, 'PAID');
  expect(await stocksOf(skus)).toEqual([7, 7]);
});

it('a closing batch waits for a SKU with those before it locked, and none behind it', async () => {
  const skus = (await newSkus(8)).toSorted();
  const orders = await placeInOrder(4, skus);
  // They lie in the opposite order, and the planner, who knows how few they are, reads them so.
  for (const sku of skus.toReversed()) {
    await shop.sql('UPDATE sku SET stock = stock WHERE sku = $1', [sku]);
  }
  await shop.sql('ANALYZE sku, order_item');

  const held = ['SELECT FROM sku WHERE sku = $1 FOR UPDATE', skus[3]] as [string, unknown];
  await whileHeld(shop, held, async () => {
    await closeAll(orders);
    await shop.untilWaiting(1);
    const free = await shop.sql<{ sku: string }[]>(
      `SELECT sku FROM sku WHERE sku = ANY ($1) ORDER BY sku FOR UPDATE SKIP LOCKED`,
      [skus],
    );
    expect(free.map(({ sku }) => sku)).toEqual(skus.slice(4));
  });
  await haveStatus(orders, 'CLOSED');
  expect(await stocksOf(skus)).toEqual(skus.map(() => 10));
});

const isRetrying = ({ state }: { state: string }) => state === 'retrying';

it('closes the others of a batch in which one order cannot be closed', async () => {
  const skus = await newSkus(2);
  const orders = await placeInOrder(4, skus);
  const [poison, ...others] = orders as [PlacedOrder, ...PlacedOrder[]];
  await closeAll(orders, poison.id);
  await haveStatus(others, 'CLOSED');
  const { status, delays } = await shop.orderWhen(poison.id, (order) =>
    order.delays.some(isRetrying),
  );
  expect([status, delays.length]).toEqual(['UNPAID', 1]);
  for (const { id } of others) {
    const [close] = await shop.app.get(DelayService).history('order.close', id);
    expect(close).toMatchObject({ state: 'completed', attempts: 1 });
  }
  expect(await stocksOf(skus)).toEqual([9, 9]);
});
