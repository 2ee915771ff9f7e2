import { describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

describe('what an order does by itself', () => {
  const shop = RunningShop.forAll({ payWithinMs: 1_500, confirmAfterMs: 300, rateAfterMs: 300 });

  it('closes at the deadline that it shows, not before, and pays back what comes later', async () => {
    const sku = await shop.newSku();
    const { id, payDeadline, total } = await shop.place(sku, 3);
    expect(await shop.stockOf(sku)).toBe(7);
    const waiting = await shop.order(id);
    expect(waiting.payDeadline).toBe(payDeadline);
    expect(waiting.delays).toEqual([
      { name: 'order.close', state: 'scheduled', dueAt: payDeadline, attempts: 0 },
    ]);

    const closed = await shop.orderWhen(id, ({ status }) => status !== 'UNPAID');
    expect(closed).toMatchObject({ status: 'CLOSED', closeReason: 'not paid in time', delays: [] });
    expect(await shop.stockOf(sku)).toBe(10);
    const closedAt = closed.timeline.find(({ event }) => event === 'order closed')!.at;
    expect(Date.parse(closedAt)).toBeGreaterThanOrEqual(Date.parse(payDeadline));

    const late = await shop.callback(id, total);
    expect(late).toMatchObject({ status: 200, body: { status: 'REFUND_PENDING' } });
    const order = await shop.orderWhen(id, ({ payments }) => payments[0]?.status === 'REFUNDED');
    const refundReason = 'the order was closed';
    expect(order).toMatchObject({ status: 'CLOSED', payments: [{ amount: total, refundReason }] });
    const told = order.timeline.map(({ event, detail }) => `${event}: ${detail}`);
    expect(told).toEqual(
      expect.arrayContaining([
        'order closed: not paid in time',
        `payment refunded: ${refundReason}`,
      ]),
    );
  });

  it('stays paid, without a delay, once it is paid in time', async () => {
    const sku = await shop.newSku();
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
    expect(shipped.delays).toMatchObject([{ name: 'order.confirm', dueAt: shipped.autoConfirmAt }]);

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

  it('closes at once, after a restart, if it became due while no shop was running', async () => {
    const { id, payDeadline } = await shop.place(await shop.newSku());
    await shop.stop();
    await until(Date.now, (now) => now > Date.parse(payDeadline));
    await shop.start();
    const order = await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
    expect(order.payDeadline).toBe(payDeadline);
  });
});
