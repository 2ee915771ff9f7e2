import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Recipe, type RunningApp } from './recipe.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

/** The page with its one provider, running. */
async function run(
  page: string,
  file: string,
  name: string,
): Promise<{ page: Recipe; app: RunningApp; instance: any }> {
  recipe = await Recipe.open(page);
  const provider = (await recipe.load<Record<string, Type>>(file))[name]!;
  const app = await recipe.start([provider]);
  return { page: recipe, app, instance: app.get(provider) };
}

const status = async (page: Recipe, id: string): Promise<unknown> =>
  (await page.sql('SELECT status FROM orders WHERE id = $1', [id]))[0]?.['status'];

describe('close-unpaid-orders.md', () => {
  interface Orders {
    place(orderId: string, sku: string, quantity: number): Promise<Date>;
  }

  it('closes at the deadline that the order shows, and the stock is back', async () => {
    const { page, app, instance } = await run('close-unpaid-orders.md', 'orders.ts', 'Orders');
    const orders: Orders = instance;
    await page.sql(`INSERT INTO sku VALUES ('cup', 5)`);
    const deadline = await orders.place('a', 'cup', 2);
    expect(await app.find('order.close', 'a')).toMatchObject({ dueAt: deadline });
    expect(await page.sql('SELECT pay_deadline FROM orders')).toEqual([{ pay_deadline: deadline }]);
    expect(await page.sql('SELECT stock FROM sku')).toEqual([{ stock: 3 }]);
    await app.fire('order.close', 'a');
    expect(await status(page, 'a')).toBe('CLOSED');
    expect(await page.sql('SELECT stock FROM sku')).toEqual([{ stock: 5 }]);

    await orders.place('paid', 'cup', 1);
    await page.sql(`UPDATE orders SET status = 'PAID' WHERE id = 'paid'`);
    await app.fire('order.close', 'paid');
    expect(await status(page, 'paid')).toBe('PAID');
    expect(await page.sql('SELECT stock FROM sku')).toEqual([{ stock: 4 }]);

    await expect(orders.place('b', 'cup', 6)).rejects.toThrow('check constraint');
    expect(await app.find('order.close', 'b')).toBeNull();
  });
});

describe('paid-in-the-last-second.md', () => {
  interface Payments {
    captured(paymentId: string, orderId: string): Promise<void>;
  }

  async function open() {
    const refunds: string[] = [];
    const blocks = await Recipe.open('paid-in-the-last-second.md');
    recipe = blocks;
    const { Payments, Provider } = await blocks.load<{
      Payments: Type<Payments>;
      Provider: Type;
    }>('payments.ts');
    const refund = async (_id: string, options: { idempotencyKey: string }): Promise<void> =>
      void refunds.push(options.idempotencyKey);
    const app = await blocks.start([Payments, { provide: Provider, useValue: { refund } }]);
    await blocks.sql(`INSERT INTO orders (id) VALUES ('a')`);
    await app.delays.schedule('order.close', { orderId: 'a' }, { after: '30m', key: 'a' });
    const held = await blocks.hold(`SELECT FROM orders WHERE id = $1 FOR UPDATE`, ['a']);
    return { page: blocks, app, payments: app.get(Payments), refunds, held };
  }

  it('the close is first: the payment is taken all the same, and goes back', async () => {
    const { page, app, payments, refunds, held } = await open();
    const closed = app.next('completed', 'order.close', 'a');
    const refunded = app.next('completed', 'payment.refund', 'p');
    await app.makeDue('order.close', 'a');
    await page.waiting(1);
    const captured = payments.captured('p', 'a');
    await page.waiting(2);
    await held.release();
    await Promise.all([captured, closed, refunded]);
    expect(await status(page, 'a')).toBe('CLOSED');
    expect(await page.sql('SELECT id, status FROM payment')).toEqual([
      { id: 'p', status: 'REFUNDED' },
    ]);
    await payments.captured('p', 'a');
    expect(await app.find('payment.refund', 'p')).toBeNull();
    expect(await page.sql('SELECT status FROM payment')).toEqual([{ status: 'REFUNDED' }]);
    expect(refunds).toEqual(['refund-p']);
  });

  it('the payment is first: the close has begun, and changes nothing', async () => {
    const { page, app, payments, refunds, held } = await open();
    const closed = app.next('completed', 'order.close', 'a');
    const captured = payments.captured('p', 'a');
    await page.waiting(1);
    await app.makeDue('order.close', 'a');
    await page.waiting(2);
    await held.release();
    await Promise.all([captured, closed]);
    expect(await status(page, 'a')).toBe('PAID');
    expect(await page.sql('SELECT status FROM payment')).toEqual([{ status: 'CAPTURED' }]);
    expect(refunds).toEqual([]);
  });
});

describe('cancel-on-pay.md', () => {
  interface PaidOrders {
    pay(orderId: string): Promise<string>;
  }

  it('answers cancelled, running or absent, and the order is paid in each case', async () => {
    const { page, app, instance } = await run('cancel-on-pay.md', 'paid-orders.ts', 'PaidOrders');
    const orders: PaidOrders = instance;
    await page.sql(`INSERT INTO orders VALUES ('waits'), ('runs'), ('none')`);
    await app.delays.scheduleMany(
      ['waits', 'runs'].flatMap((orderId) => [
        { name: 'order.close' as const, payload: { orderId }, key: orderId, after: '30m' },
        { name: 'order.remind' as const, payload: { orderId }, key: orderId, after: '20m' },
      ]),
    );
    expect(await orders.pay('waits')).toBe('cancelled');
    expect(await app.find('order.remind', 'waits')).toBeNull();
    expect(await orders.pay('none')).toBe('absent');

    const held = await page.hold(`SELECT FROM orders WHERE id = $1 FOR UPDATE`, ['runs']);
    const paid = orders.pay('runs');
    await page.waiting(1);
    const closed = app.next('completed', 'order.close', 'runs');
    await app.makeDue('order.close', 'runs');
    await page.waiting(2);
    await held.release();
    expect(await paid).toBe('running');
    await closed;
    expect(await page.sql('SELECT DISTINCT status FROM orders')).toEqual([{ status: 'PAID' }]);
    await expect(orders.pay('runs')).rejects.toThrow('cannot be paid');
  });
});

describe('extend-a-deadline.md', () => {
  interface Extensions {
    extend(orderId: string): Promise<Date>;
  }

  it('adds a week once, and not while the confirmation runs', async () => {
    const { page, app, instance } = await run(
      'extend-a-deadline.md',
      'extensions.ts',
      'Extensions',
    );
    const orders: Extensions = instance;
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

    const held = await page.hold(`SELECT FROM orders WHERE id = $1 FOR UPDATE`, ['b']);
    const extending = orders.extend('b').catch((error: unknown) => error);
    await page.waiting(1);
    const confirmed = app.next('completed', 'order.confirm', 'b');
    await app.makeDue('order.confirm', 'b');
    await page.waiting(2);
    await held.release();
    await confirmed;
    expect(await extending).toEqual(new Error('the time of order b is over'));
    expect(await status(page, 'b')).toBe('COMPLETED');
  });
});

describe('confirm-then-rate.md', () => {
  interface Deliveries {
    ship(orderId: string): Promise<void>;
    confirm(orderId: string): Promise<void>;
    rate(orderId: string, stars: number): Promise<void>;
  }

  it('confirms itself after 14 days and gets five stars after 48 hours', async () => {
    const { page, app, instance } = await run(
      'confirm-then-rate.md',
      'deliveries.ts',
      'Deliveries',
    );
    const orders: Deliveries = instance;
    await page.sql(`INSERT INTO orders VALUES ('silent'), ('quick')`);
    await orders.ship('silent');
    expect(await app.waitsSeconds('order.confirm', 'silent')).toBe(14 * DAY);
    await app.fire('order.confirm', 'silent');
    expect(await status(page, 'silent')).toBe('COMPLETED');
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
});

describe('deadlines-per-merchant.md', () => {
  interface MerchantOrders {
    place(orderId: string, merchantId: string): Promise<Date>;
  }

  it('takes the setting of the moment, and a changed one moves no deadline', async () => {
    const { page, app, instance } = await run(
      'deadlines-per-merchant.md',
      'merchant-orders.ts',
      'MerchantOrders',
    );
    const orders: MerchantOrders = instance;
    await page.sql(`INSERT INTO merchant (id) VALUES ('kiln')`);
    const deadline = await orders.place('a', 'kiln');
    expect(await app.waitsSeconds('order.close', 'a')).toBe(30 * MINUTE);
    await page.sql('UPDATE merchant SET pay_within_ms = 7200000');
    await orders.place('b', 'kiln');
    expect(await app.waitsSeconds('order.close', 'b')).toBe(2 * HOUR);
    expect(await app.find('order.close', 'a')).toMatchObject({ dueAt: deadline });
    await app.fire('order.close', 'a');
    expect(await status(page, 'a')).toBe('CLOSED');
  });
});

describe('freeze-and-release.md', () => {
  interface Disputes {
    open(orderId: string): Promise<void>;
    release(orderId: string): Promise<void>;
  }

  it('keeps the time that was left, and an attempt that runs does nothing', async () => {
    const { page, app, instance } = await run('freeze-and-release.md', 'disputes.ts', 'Disputes');
    const disputes: Disputes = instance;
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

    const held = await page.hold(`SELECT FROM orders WHERE id = $1 FOR UPDATE`, ['b']);
    const opened = disputes.open('b');
    await page.waiting(1);
    const ran = app.next('completed', 'order.confirm', 'b');
    await app.makeDue('order.confirm', 'b');
    await page.waiting(2);
    await held.release();
    await Promise.all([opened, ran]);
    expect(await status(page, 'b')).toBe('SHIPPED');
    expect(await page.sql('SELECT name, left_ms FROM frozen_timer')).toEqual([
      { name: 'order.confirm', left_ms: '0' },
    ]);
    const confirmed = app.next('completed', 'order.confirm', 'b');
    await disputes.release('b');
    await confirmed;
    expect(await status(page, 'b')).toBe('COMPLETED');
  });
});
