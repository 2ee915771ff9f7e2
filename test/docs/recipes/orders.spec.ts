import { expect, it } from '@jest/globals';
import { type Page, recipe } from '../page.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const statusOf = async (page: Page, id: string): Promise<unknown> =>
  (await page.sql('SELECT status FROM orders WHERE id = $1', [id]))[0]?.['status'];

/** Both wait for the order's row, one behind the other. */
async function race<One, Other>(
  page: Page,
  id: string,
  first: () => Promise<One>,
  second: () => Promise<Other>,
): Promise<[One, Other]> {
  const held = await page.hold(`SELECT FROM orders WHERE id = '${id}' FOR UPDATE`);
  const one = first();
  await page.waiting(1);
  const other = second();
  await page.waiting(2);
  await held.commit();
  return Promise.all([one, other]);
}

it('close-unpaid-orders.md: closes at the deadline that the order shows, and the stock is back', async () => {
  const [page, { Orders }] = await recipe('close-unpaid-orders.md');
  const app = await page.start([Orders]);
  const orders = app.get(Orders);
  await page.sql(`INSERT INTO sku VALUES ('cup', 5)`);
  const deadline = await orders.place('a', 'cup', 2);
  expect(await app.find('order.close', 'a')).toMatchObject({ dueAt: deadline });
  expect(await page.sql('SELECT pay_deadline, stock FROM orders, sku')).toEqual([
    { pay_deadline: deadline, stock: 3 },
  ]);
  await orders.place('paid', 'cup', 1);
  await page.sql(`UPDATE orders SET status = 'PAID' WHERE id = 'paid'`);
  await app.fire('order.close', 'paid');
  await app.fire('order.close', 'a');
  expect(await page.sql('SELECT o.id, status, stock FROM orders o, sku ORDER BY 1')).toEqual([
    { id: 'a', status: 'CLOSED', stock: 4 },
    { id: 'paid', status: 'PAID', stock: 4 },
  ]);
  await expect(orders.place('b', 'cup', 6)).rejects.toThrow('check constraint');
  expect(await app.find('order.close', 'b')).toBeNull();
});

it('paid-in-the-last-second.md: whoever is first has the order, and a payment behind the close goes back', async () => {
  const [page, { Payments, Provider }] = await recipe('paid-in-the-last-second.md');
  const refunds: string[] = [];
  const refund = async (_id: string, { idempotencyKey }: { idempotencyKey: string }) =>
    void refunds.push(idempotencyKey);
  const app = await page.start([Payments, { provide: Provider, useValue: { refund } }]);
  const payments = app.get(Payments);
  await page.sql(`INSERT INTO orders VALUES ('closed'), ('paid')`);
  for (const orderId of ['closed', 'paid']) {
    await app.delays.schedule('order.close', { orderId }, { after: '30m', key: orderId });
  }
  const refunded = app.next('completed', 'payment.refund', 'late');
  const close = (id: string) => () => app.fire('order.close', id);
  const capture = (payment: string, id: string) => () => payments.captured(payment, id);
  await race(page, 'closed', close('closed'), capture('late', 'closed'));
  await race(page, 'paid', capture('early', 'paid'), close('paid'));
  await refunded;
  await payments.captured('late', 'closed');
  expect(await app.find('payment.refund', 'late')).toBeNull();
  expect(await page.sql('SELECT * FROM orders ORDER BY id')).toEqual([
    { id: 'closed', status: 'CLOSED' },
    { id: 'paid', status: 'PAID' },
  ]);
  expect(await page.sql('SELECT id, status FROM payment ORDER BY id')).toEqual([
    { id: 'early', status: 'CAPTURED' },
    { id: 'late', status: 'REFUNDED' },
  ]);
  expect(refunds).toEqual(['refund-late']);
});

it('cancel-on-pay.md: answers cancelled, running or absent, and the order is paid in each case', async () => {
  const [page, { PaidOrders }] = await recipe('cancel-on-pay.md');
  const app = await page.start([PaidOrders]);
  const orders = app.get(PaidOrders);
  await page.sql(`INSERT INTO orders VALUES ('waits'), ('runs'), ('none')`);
  for (const orderId of ['waits', 'runs']) {
    for (const name of ['order.close', 'order.remind'] as const) {
      await app.delays.schedule(name, { orderId }, { after: '30m', key: orderId });
    }
  }
  expect(await orders.pay('waits')).toBe('cancelled');
  expect(await app.find('order.remind', 'waits')).toBeNull();
  expect(await orders.pay('none')).toBe('absent');
  const pay = () => orders.pay('runs');
  const [verdict] = await race(page, 'runs', pay, () => app.fire('order.close', 'runs'));
  expect(verdict).toBe('running');
  expect(await page.sql('SELECT DISTINCT status FROM orders')).toEqual([{ status: 'PAID' }]);
  await expect(orders.pay('runs')).rejects.toThrow('cannot be paid');
});

it('extend-a-deadline.md: adds a week once, and not while the confirmation runs', async () => {
  const [page, { Extensions }] = await recipe('extend-a-deadline.md');
  const app = await page.start([Extensions]);
  const orders = app.get(Extensions);
  await page.sql(`INSERT INTO orders (id) VALUES ('a'), ('b')`);
  for (const orderId of ['a', 'b']) {
    await app.delays.schedule('order.confirm', { orderId }, { after: '14d', key: orderId });
  }
  const before = await app.find('order.confirm', 'a');
  const extended = await orders.extend('a');
  expect(Number(extended) - Number(before?.dueAt)).toBe(7 * DAY * 1_000);
  expect(await page.sql(`SELECT confirm_at FROM orders WHERE id = 'a'`)).toEqual([
    { confirm_at: extended },
  ]);
  await expect(orders.extend('a')).rejects.toThrow('cannot be extended');
  expect(await app.find('order.confirm', 'a')).toMatchObject({ dueAt: extended });
  const extend = () => orders.extend('b').catch((error: unknown) => error);
  const [refused] = await race(page, 'b', extend, () => app.fire('order.confirm', 'b'));
  expect(refused).toEqual(new Error('the time of order b is over'));
  expect(await statusOf(page, 'b')).toBe('COMPLETED');
});

it('confirm-then-rate.md: confirms itself after 14 days and gets five stars after 48 hours', async () => {
  const [page, { Deliveries }] = await recipe('confirm-then-rate.md');
  const app = await page.start([Deliveries]);
  const orders = app.get(Deliveries);
  await page.sql(`INSERT INTO orders VALUES ('silent'), ('quick')`);
  await orders.ship('silent');
  expect(await app.waitsSeconds('order.confirm', 'silent')).toBe(14 * DAY);
  await app.fire('order.confirm', 'silent');
  expect(await statusOf(page, 'silent')).toBe('COMPLETED');
  expect(await app.waitsSeconds('order.rate', 'silent')).toBe(48 * HOUR);
  await app.fire('order.rate', 'silent');
  await orders.rate('silent', 1);

  await orders.ship('quick');
  await orders.confirm('quick');
  await expect(orders.confirm('quick')).rejects.toThrow('not under way');
  expect(await app.find('order.confirm', 'quick')).toBeNull();
  await orders.rate('quick', 3);
  expect(await app.find('order.rate', 'quick')).toBeNull();
  expect(await page.sql('SELECT * FROM review ORDER BY order_id')).toEqual([
    { order_id: 'quick', stars: 3, source: 'buyer' },
    { order_id: 'silent', stars: 5, source: 'automatic' },
  ]);
});

it('deadlines-per-merchant.md: takes the setting of the moment, and a changed one moves no deadline', async () => {
  const [page, { MerchantOrders }] = await recipe('deadlines-per-merchant.md');
  const app = await page.start([MerchantOrders]);
  const orders = app.get(MerchantOrders);
  await page.sql(`INSERT INTO merchant (id) VALUES ('kiln')`);
  const deadline = await orders.place('a', 'kiln');
  expect(await app.waitsSeconds('order.close', 'a')).toBe(30 * MINUTE);
  await page.sql('UPDATE merchant SET pay_within_ms = 7200000');
  await orders.place('b', 'kiln');
  expect(await app.waitsSeconds('order.close', 'b')).toBe(2 * HOUR);
  expect(await app.find('order.close', 'a')).toMatchObject({ dueAt: deadline });
  await app.fire('order.close', 'a');
  expect(await statusOf(page, 'a')).toBe('CLOSED');
});

it('freeze-and-release.md: keeps the time that was left, and an attempt that runs does nothing', async () => {
  const [page, { Disputes }] = await recipe('freeze-and-release.md');
  const app = await page.start([Disputes]);
  const disputes = app.get(Disputes);
  await page.sql(`INSERT INTO orders (id) VALUES ('a'), ('b')`);
  for (const orderId of ['a', 'b']) {
    await app.delays.schedule('order.confirm', { orderId }, { after: '14d', key: orderId });
  }
  await disputes.open('a');
  expect(await app.find('order.confirm', 'a')).toBeNull();
  await page.sql(`UPDATE frozen_timer SET left_ms = 60000`);
  await disputes.release('a');
  expect(await app.waitsSeconds('order.confirm', 'a')).toBe(MINUTE);
  await expect(disputes.release('a')).rejects.toThrow('not disputed');

  const open = () => disputes.open('b');
  await race(page, 'b', open, () => app.fire('order.confirm', 'b'));
  expect(await statusOf(page, 'b')).toBe('SHIPPED');
  expect(await page.sql('SELECT name, left_ms FROM frozen_timer')).toEqual([
    { name: 'order.confirm', left_ms: '0' },
  ]);
  const confirmed = app.next('completed', 'order.confirm', 'b');
  await disputes.release('b');
  await confirmed;
  expect(await statusOf(page, 'b')).toBe('COMPLETED');
});
