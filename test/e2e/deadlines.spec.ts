import { describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe('what an order does by itself', () => {
  const shop = RunningShop.inItsTime({
    payWithinMs: 30 * MINUTE_MS,
    confirmAfterMs: 14 * DAY_MS,
    rateAfterMs: 2 * DAY_MS,
  });

  it('closes at the deadline that it shows, not before, and its stock is back', async () => {
    const sku = await shop.newSku();
    const { id, payDeadline } = await shop.place(sku, 3);
    expect(await shop.stockOf(sku)).toBe(7);
    expect(await shop.order(id)).toMatchObject({
      payDeadline,
      delays: [{ name: 'order.close', state: 'scheduled', dueAt: payDeadline, attempts: 0 }],
    });

    await shop.time.advance('29m');
    expect((await shop.order(id)).status).toBe('UNPAID');
    await shop.time.advance('1m');

    const { timeline, ...closed } = await shop.order(id);
    expect(closed).toMatchObject({ status: 'CLOSED', closeReason: 'not paid in time', delays: [] });
    expect(await shop.stockOf(sku)).toBe(10);
    expect(timeline).toContainEqual(
      expect.objectContaining({ event: 'order closed', detail: 'not paid in time' }),
    );
  });

  it('stays paid, without a delay, once it is paid in time', async () => {
    const sku = await shop.newSku();
    const { id } = await shop.place(sku, 2);
    expect(await shop.act(id, 'pay')).toMatchObject({ status: 'PAID', delays: [] });
    await shop.time.advance('31m');
    const order = await shop.order(id);
    expect(order.status).toBe('PAID');
    expect(order.timeline.map(({ event }) => event)).toContain('order.close cancelled');
    expect(await shop.stockOf(sku)).toBe(8);
  });

  it('confirms itself when it was shipped, then gets five stars, in the times agreed at placing', async () => {
    const { id } = await shop.orderAfter();
    const change = (body: unknown) =>
      shop.send('PATCH', '/merchants/tea-house', JSON.stringify(body));
    await change({ confirmAfter: '1h', rateAfter: '1h' });
    await shop.act(id, 'pay');
    const shipped = await shop.act(id, 'ship');
    expect(shipped.delays).toMatchObject([{ name: 'order.confirm', dueAt: shipped.autoConfirmAt }]);

    await shop.time.advance('13d');
    expect((await shop.order(id)).status).toBe('SHIPPED');
    await shop.time.advance('1d');
    expect((await shop.order(id)).status).toBe('COMPLETED');
    await shop.time.advance('47h');
    expect((await shop.order(id)).review).toBeNull();
    await shop.time.advance('1h');

    const { timeline, ...rated } = await shop.order(id);
    expect(rated).toMatchObject({ review: { stars: 5, source: 'automatic' }, delays: [] });
    expect(timeline.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['order.confirm completed', 'order.rate completed']),
    );
    await change({ confirmAfter: null, rateAfter: null });
  });
});

it('an order closes at once, after a restart, if it became due while no shop was running', async () => {
  const shop = await RunningShop.open({ payWithinMs: 1_500 });
  try {
    const { id, payDeadline } = await shop.place(await shop.newSku());
    await shop.stop();
    await until(Date.now, (now) => now > Date.parse(payDeadline));
    await shop.start();
    const order = await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
    expect(order.payDeadline).toBe(payDeadline);
  } finally {
    await shop.close();
  }
});
