import { expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { orderPage } from '../../src/shop/orders/orders.schemas.js';
import { paymentPage } from '../../src/shop/payments/payments.schemas.js';
import { atOnce } from './support/at-once.js';
import { RunningShop } from './support/running-shop.js';

const shop = RunningShop.forAll();

const ordersAt = async (query: string) =>
  orderPage.parse((await shop.get(`/orders?${query}`)).body);
const paymentsAt = async (query: string) =>
  paymentPage.parse((await shop.get(`/payments?${query}`)).body);

/** All pages, one after the other; `between` happens after each. */
async function walk<Page extends { next: string | null }>(
  pageAt: (query: string) => Promise<Page>,
  query: string,
  between: () => Promise<unknown> = async () => {},
): Promise<Page[]> {
  const pages: Page[] = [];
  for (let after = ''; ;) {
    const page = await pageAt(query + after);
    pages.push(page);
    if (page.next === null) return pages;
    after = `&after=${page.next}`;
    await between();
  }
}

it('orders come newest first, in pages, each once, also while others are placed, and those in one state', async () => {
  const sku = await shop.newSku({ stock: 100 });
  const placed: string[] = [];
  for (let count = 0; count < 7; count += 1) placed.push((await shop.place(sku)).id);
  const ids = placed.toReversed();
  const cancelled = ids.filter((_, n) => n % 2 === 0);
  for (const id of cancelled) await shop.act(id, 'cancel');

  const { orders, next } = await ordersAt('');
  expect([orders.map(({ id }) => id), next]).toEqual([ids, null]);
  const { id, no, status, total, payDeadline } = await shop.order(ids[1]!);
  expect(orders[1]).toMatchObject({ id, no, status, total, payDeadline });

  const pages = await walk(ordersAt, 'limit=3', () => shop.place(sku));
  expect(pages.flatMap((page) => page.orders).map((order) => order.id)).toEqual(ids);

  // A full page may be the last.
  const closed = await walk(ordersAt, 'status=CLOSED&limit=2');
  expect(closed.map((page) => page.orders.map((order) => order.id))).toEqual([
    cancelled.slice(0, 2),
    cancelled.slice(2),
  ]);
  expect(await ordersAt('status=SHIPPED')).toEqual({ orders: [], next: null });
});

it.each([
  ['status=LATE', 'status', /"UNPAID" or "PAID"/],
  ['limit=101', 'limit', /from 1 to 100/],
  [`after=${randomUUID()}`, 'after', /on a page before/],
])('there are no orders of %s', async (query, field, message) => {
  const { status, body } = await shop.get(`/orders?${query}`);
  expect(status).toBe(400);
  expect(body.errors).toEqual([{ field, message: expect.stringMatching(message) }]);
});

it('payments come newest first, in pages, each once; those for an order that nobody knows can be found', async () => {
  const orderId = randomUUID();
  const { body } = await shop.callback(orderId, 4_200);
  const { payments } = await paymentsAt(`orderId=${orderId}`);
  const found = { id: body.paymentId, orderId, amount: 4_200, refundReason: 'no such order' };
  expect(payments).toMatchObject([found]);
  expect(await paymentsAt(`orderId=${randomUUID()}`)).toEqual({ payments: [], next: null });
  expect(await paymentsAt('status=CAPTURED')).toEqual({ payments: [], next: null });

  await atOnce(7, () => shop.callback(randomUUID(), 100));
  // Many are of the same instant.
  await shop.sql(
    `UPDATE payment SET captured_at = (SELECT max(captured_at) FROM payment) WHERE amount = 100`,
  );
  const all = (await walk(paymentsAt, 'limit=3')).flatMap((page) => page.payments);
  expect(all).toHaveLength(8);
  expect(new Set(all.map(({ id }) => id)).size).toBe(8);
  expect(all.at(-1)).toMatchObject({ orderId });
});
