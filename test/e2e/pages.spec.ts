import { beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { orderPage } from '../../src/shop/orders/orders.schemas.js';
import { paymentPage } from '../../src/shop/payments/payments.schemas.js';
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

describe('the orders', () => {
  /** Oldest first, four of them cancelled. */
  const ids: string[] = [];

  beforeAll(async () => {
    const sku = await shop.newSku({ stock: 100 });
    for (let i = 0; i < 12; i++) ids.push((await shop.place(sku)).id);
    for (const id of ids.filter((_, i) => i % 3 === 0)) await shop.act(id, 'cancel');
  });

  it('come newest first, as they are', async () => {
    const { orders, next } = await ordersAt('');
    expect(orders.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(next).toBeNull();
    const { id, no, status, total, payDeadline } = await shop.order(ids[1]!);
    const head = orders.find((order) => order.id === id);
    expect(head).toMatchObject({ no, status, total, payDeadline });
  });

  it('come in pages, each order once, also while others are placed', async () => {
    const sku = await shop.newSku();
    const pages = await walk(ordersAt, 'limit=5', () => shop.place(sku));
    expect(pages.flatMap(({ orders }) => orders).map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('can be those in one state; a full page may be the last', async () => {
    const pages = await walk(ordersAt, 'status=CLOSED&limit=2');
    expect(pages.map(({ orders }) => orders.length)).toEqual([2, 2]);
    const closed = pages.flatMap(({ orders }) => orders);
    expect(closed.map(({ id }) => id)).toEqual(ids.filter((_, i) => i % 3 === 0).toReversed());
    expect(await ordersAt('status=SHIPPED')).toEqual({ orders: [], next: null });
  });

  it.each([
    ['status=LATE', 'status', /"UNPAID" or "PAID"/],
    ['limit=101', 'limit', /from 1 to 100/],
    [`after=${randomUUID()}`, 'after', /on a page before/],
  ])('are not those of %s', async (query, field, message) => {
    const { status, body } = await shop.get(`/orders?${query}`);
    expect(status).toBe(400);
    expect(body.errors).toEqual([{ field, message: expect.stringMatching(message) }]);
  });
});

describe('the money', () => {
  it('for an order that nobody knows can be found', async () => {
    const orderId = randomUUID();
    const { body } = await shop.callback(orderId, 4_200);
    const { payments } = await paymentsAt(`orderId=${orderId}`);
    expect(payments).toMatchObject([
      { id: body.paymentId, orderId, amount: 4_200, refundReason: 'no such order' },
    ]);
    expect(await paymentsAt(`orderId=${randomUUID()}`)).toEqual({ payments: [], next: null });
    expect(await paymentsAt('status=CAPTURED')).toEqual({ payments: [], next: null });
  });

  it('comes newest first, in pages, each payment once', async () => {
    await Promise.all(Array.from({ length: 12 }, () => shop.callback(randomUUID(), 100)));
    // Many are of the same instant.
    await shop.sql(
      `UPDATE payment SET captured_at = (SELECT max(captured_at) FROM payment) WHERE amount = 100`,
    );
    const pages = await walk(paymentsAt, 'limit=5');
    const found = pages.flatMap(({ payments }) => payments);
    const all = await shop.sql<unknown[]>(`SELECT FROM payment`);
    expect(new Set(found.map(({ id }) => id)).size).toBe(all.length);
    expect(found).toHaveLength(all.length);
    const times = found.map(({ capturedAt }) => Date.parse(capturedAt));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });
});
