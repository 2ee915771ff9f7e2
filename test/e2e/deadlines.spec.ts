import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

const names = (delays: { name: string }[]): string[] => delays.map(({ name }) => name);

describe('what an order does by itself', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open({ payWithinMs: 1_500, confirmAfterMs: 300, rateAfterMs: 300 });
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  it('closes by itself, not before its deadline, and puts its stock back', async () => {
    const sku = await shop.newSku({ stock: 10 });
    const { id, payDeadline } = await shop.place(sku, 3);
    expect(await shop.stockOf(sku)).toBe(7);

    const closed = await shop.orderWhen(id, ({ status }) => status !== 'UNPAID');

    expect(closed).toMatchObject({ status: 'CLOSED', closeReason: 'not paid in time', delays: [] });
    expect(await shop.stockOf(sku)).toBe(10);
    const closedAt = closed.timeline.find(({ event }) => event === 'order closed')?.at ?? '';
    const lateMs = Date.parse(closedAt) - Date.parse(payDeadline);
    expect(lateMs).toBeGreaterThanOrEqual(0);
  });

  it('shows the deadline that its delay has, to the millisecond', async () => {
    const { id, payDeadline } = await shop.place(await shop.newSku());
    const [delay] = await shop.sql<{ due_at: Date }[]>(
      `SELECT due_at FROM delay_queue.delay WHERE name = 'order.close' AND key = $1`,
      [id],
    );
    expect(delay?.due_at.toISOString()).toBe(payDeadline);

    const order = await shop.order(id);
    expect(order.payDeadline).toBe(payDeadline);
    expect(order.delays).toEqual([
      { name: 'order.close', state: 'scheduled', dueAt: payDeadline, attempts: 0 },
    ]);
    await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
  });

  it('stays paid, without a delay, once it is paid in time', async () => {
    const sku = await shop.newSku({ stock: 10 });
    const paid = await shop.place(sku, 2);
    expect(await shop.act(paid.id, 'pay')).toMatchObject({ status: 'PAID', delays: [] });

    // Placed later, so when this one has closed, the deadline of the paid one has passed.
    const later = await shop.place(sku, 1);
    await shop.orderWhen(later.id, ({ status }) => status === 'CLOSED');

    const order = await shop.order(paid.id);
    expect(order.status).toBe('PAID');
    expect(order.timeline.map(({ event }) => event)).toContain('order.close cancelled');
    expect(await shop.stockOf(sku)).toBe(8);
  });

  it('confirms itself when it was shipped, and then gets five stars', async () => {
    const shipped = await shop.orderAfter('pay', 'ship');
    expect(names(shipped.delays)).toEqual(['order.confirm']);
    expect(shipped.autoConfirmAt).toBe(shipped.delays[0]?.dueAt);

    const rated = await shop.orderWhen(shipped.id, ({ review }) => review !== null);

    expect(rated).toMatchObject({
      status: 'COMPLETED',
      review: { stars: 5, source: 'automatic' },
      delays: [],
    });
    const events = rated.timeline.map(({ event }) => event);
    expect(events.filter((event) => event.startsWith('order '))).toEqual([
      'order placed',
      'order paid',
      'order shipped',
      'order completed',
      'order rated',
    ]);
    expect(events).toEqual(
      expect.arrayContaining(['order.confirm completed', 'order.rate completed']),
    );
  });

  it('refunds a payment that arrives after the close', async () => {
    const { id, total } = await shop.place(await shop.newSku());
    await shop.orderWhen(id, ({ status }) => status === 'CLOSED');

    const late = await shop.callback(id, total);
    expect(late).toMatchObject({ status: 200, body: { status: 'REFUND_PENDING' } });

    const order = await shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED');
    expect(order).toMatchObject({
      status: 'CLOSED',
      payments: [{ amount: total, refundReason: 'the order was closed' }],
    });
  });
});

describe('a restart', () => {
  it('closes at once what became due while no shop was running', async () => {
    const before = await RunningShop.open({ payWithinMs: 1_000 });
    const { id, payDeadline } = await before.place(await before.newSku());
    await before.stop();
    await until(
      () => Promise.resolve(Date.now()),
      (now) => now > Date.parse(payDeadline),
    );

    const after = await RunningShop.open({}, before.database);
    const order = await after.orderWhen(id, ({ status }) => status === 'CLOSED');
    expect(order.payDeadline).toBe(payDeadline);
    expect(await after.broken()).toEqual([]);
    await after.close();
  });
});
