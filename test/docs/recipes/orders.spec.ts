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

/** What the two providers were asked for. */
async function openShop() {
  const [page, code] = await recipe('close-unpaid-orders.md');
  const { Orders, Payments, Provider, TextMessages } = code;
  const asked: string[] = [];
  const note = async (_id: string, key: string) => void asked.push(key);
  const app = await page.start([
    Orders,
    Payments,
    { provide: Provider, useValue: { refund: note } },
    { provide: TextMessages, useValue: { remind: note } },
  ]);
  await page.sql(`INSERT INTO sku VALUES ('cup', 9)`);
  await page.sql(`INSERT INTO merchant VALUES ('kiln', 1800000), ('swift', 600000)`);
  const orders = app.get(Orders);
  const place = (id: string, merchant = 'kiln', quantity = 2): Promise<Date> =>
    orders.place(id, merchant, 'cup', quantity);
  return { page, app, orders, payments: app.get(Payments), place, asked };
}

it('close-unpaid-orders.md: closes at the deadline that the order shows, and the stock is back', async () => {
  const { page, app, payments, place } = await openShop();
  const deadline = await place('a');
  expect(await app.waitsSeconds('order.close', 'a')).toBe(30 * MINUTE);
  await page.sql(`UPDATE merchant SET pay_within_ms = 7200000`);
  await place('b');
  expect(await app.waitsSeconds('order.close', 'b')).toBe(2 * HOUR);
  expect(await app.find('order.close', 'a')).toMatchObject({ dueAt: deadline });
  expect(await page.sql(`SELECT pay_deadline, stock FROM orders o, sku WHERE o.id = 'a'`)).toEqual([
    { pay_deadline: deadline, stock: 5 },
  ]);
  await payments.captured('1', 'b');
  for (const name of ['order.close', 'order.remind']) expect(await app.find(name, 'b')).toBeNull();
  await app.fire('order.close', 'a');
  expect(await page.sql('SELECT o.id, status, stock FROM orders o, sku ORDER BY 1')).toEqual([
    { id: 'a', status: 'CLOSED', stock: 7 },
    { id: 'b', status: 'PAID', stock: 7 },
  ]);
  await expect(place('c', 'kiln', 8)).rejects.toThrow('check constraint');
  expect(await app.find('order.close', 'c')).toBeNull();
});

it('close-unpaid-orders.md: the first has the order, and a payment behind the close goes back', async () => {
  const { page, app, payments, place, asked } = await openShop();
  for (const id of ['closed', 'paid']) await place(id, 'swift');
  const refunded = app.next('completed', 'payment.refund', 'late');
  const close = (id: string) => () => app.fire('order.close', id);
  const capture = (payment: string, id: string) => () => payments.captured(payment, id);
  await race(page, 'closed', close('closed'), capture('late', 'closed'));
  await race(page, 'paid', capture('early', 'paid'), close('paid'));
  await refunded;
  await payments.captured('late', 'closed');
  expect(await app.find('payment.refund', 'late')).toBeNull();
  expect(await page.sql('SELECT id, status FROM orders ORDER BY id')).toEqual([
    { id: 'closed', status: 'CLOSED' },
    { id: 'paid', status: 'PAID' },
  ]);
  expect(await page.sql('SELECT id, status FROM payment ORDER BY id')).toEqual([
    { id: 'early', status: 'CAPTURED' },
    { id: 'late', status: 'REFUNDED' },
  ]);
  expect(asked).toEqual(['refund-late']);
});

it('close-unpaid-orders.md: adds a quarter of an hour once, and not while the order closes', async () => {
  const { page, app, orders, place } = await openShop();
  const before = await place('a');
  const extended = await orders.extend('a');
  expect(Number(extended) - Number(before)).toBe(15 * MINUTE * 1_000);
  expect(await page.sql('SELECT pay_deadline FROM orders')).toEqual([{ pay_deadline: extended }]);
  await expect(orders.extend('a')).rejects.toThrow('cannot be extended');
  expect(await app.find('order.close', 'a')).toMatchObject({ dueAt: extended });
  const remind = await app.find('order.remind', 'a');
  expect(Number(extended) - Number(remind?.dueAt)).toBe(10 * MINUTE * 1_000);
  await place('b');
  const extend = () => orders.extend('b').catch((error: unknown) => error);
  const [refused] = await race(page, 'b', extend, () => app.fire('order.close', 'b'));
  expect(refused).toEqual(new Error('the time of order b is over'));
  expect(await statusOf(page, 'b')).toBe('CLOSED');
});

it('close-unpaid-orders.md: reminds who has not paid, if there is that much time', async () => {
  const { page, app, place, asked } = await openShop();
  await place('slow');
  await place('paid');
  await place('short', 'swift');
  expect(await app.find('order.remind', 'short')).toBeNull();
  const remind = await app.find('order.remind', 'slow');
  await page.sql(`UPDATE orders SET status = 'PAID' WHERE id = 'paid'`);
  await app.fire('order.remind', 'slow');
  await app.fire('order.remind', 'paid');
  expect(asked).toEqual([expect.stringMatching(`^delay-${remind?.id}-\\d+$`)]);
});

it('deadlines.md: confirms itself after 14 days and gets five stars after 48 hours', async () => {
  const [page, { Deliveries }] = await recipe('deadlines.md');
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

it('deadlines.md: keeps the time that was left, and an attempt that runs does nothing', async () => {
  const [page, { Deliveries, Disputes }] = await recipe('deadlines.md');
  const app = await page.start([Deliveries, Disputes]);
  const disputes = app.get(Disputes);
  await page.sql(`INSERT INTO orders VALUES ('a', 'SHIPPED'), ('b', 'SHIPPED')`);
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
