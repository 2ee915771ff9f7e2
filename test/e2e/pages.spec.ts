import { beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { orderPage, type OrderHead } from '../../src/shop/orders/orders.schemas.js';
import { paymentPage, type PaymentLine } from '../../src/shop/payments/payments.schemas.js';
import { RunningShop } from './support/running-shop.js';

const shop = RunningShop.forAll();

const ordersAt = async (query: string) =>
  orderPage.parse((await shop.get(`/orders?${query}`)).body);
const paymentsAt = async (query: string) =>
  paymentPage.parse((await shop.get(`/payments?${query}`)).body);

/** All pages, one after the other; `between` happens after each. */
const walk = async (query: string, between = async () => {}): Promise<OrderHead[]> => {
  const found: OrderHead[] = [];
  let after = '';
  for (;;) {
    const { orders, next } = await ordersAt(`${query}${after && `&after=${after}`}`);
    found.push(...orders);
    if (next === null) return found;
    after = next;
    await between();
  }
};

describe('the orders', () => {
  /** Oldest first, five of them cancelled. */
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
    expect(orders.find((order) => order.id === id)).toMatchObject({
      no,
      status,
      total,
      payDeadline,
    });
  });

  it('come in pages, each order once, also while others are placed', async () => {
    const sku = await shop.newSku();
    const found = await walk('limit=5', async () => void (await shop.place(sku)));
    expect(found.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('can be those in one state', async () => {
    // Four of them: the last page is full, and says that it is the last.
    const closed = await walk('status=CLOSED&limit=2');
    expect(closed.map(({ id }) => id)).toEqual(ids.filter((_, i) => i % 3 === 0).toReversed());
    expect(new Set(closed.map(({ status }) => status))).toEqual(new Set(['CLOSED']));
    const { next } = await ordersAt(`status=CLOSED&limit=2&after=${closed[1]!.id}`);
    expect(next).toBeNull();
    expect(await ordersAt('status=SHIPPED')).toEqual({ orders: [], next: null });
  });

  it.each([
    ['status=LATE', 'status', /"UNPAID" or "PAID"/],
    ['limit=0', 'limit', /from 1 to 100/],
    ['limit=101', 'limit', /from 1 to 100/],
    [`after=${randomUUID()}`, 'after', /on a page before/],
  ])('are not those of %s', async (query, field, message) => {
    const { status, body } = await shop.get(`/orders?${query}`);
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: [{ field, message: expect.stringMatching(message) }],
    });
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
    expect((await paymentsAt('')).payments.map(({ id }) => id)).toContain(body.paymentId);
    expect(await paymentsAt(`orderId=${randomUUID()}`)).toEqual({ payments: [], next: null });
  });

  it('comes newest first, in pages, each payment once', async () => {
    // All at once: many are of the same instant, or nearly.
    await Promise.all(Array.from({ length: 12 }, () => shop.callback(randomUUID(), 100)));
    await shop.sql(
      `UPDATE payment SET captured_at = (SELECT max(captured_at) FROM payment) WHERE amount = 100`,
    );
    const found: PaymentLine[] = [];
    for (let after = ''; ;) {
      const { payments, next } = await paymentsAt(`limit=5${after}`);
      found.push(...payments);
      if (next === null) break;
      after = `&after=${next}`;
    }
    const [row] = await shop.sql<{ n: number }[]>(`SELECT count(*)::int AS n FROM payment`);
    expect(new Set(found.map(({ id }) => id)).size).toBe(row!.n);
    expect(found).toHaveLength(row!.n);
    const times = found.map(({ capturedAt }) => Date.parse(capturedAt));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });

  it('can be that in one state', async () => {
    const { id } = await shop.orderAfter('pay');
    expect((await paymentsAt('status=CAPTURED')).payments).toMatchObject([{ orderId: id }]);
  });
});
