import { describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('what an order does by itself', () => {
  const shop = RunningShop.inItsTime({
    payWithinMs: 30 * MINUTE_MS,
    confirmAfterMs: 14 * DAY_MS,
    rateAfterMs: 2 * DAY_MS,
  });

  const events = async (id: string) => (await shop.order(id)).timeline.map(({ event }) => event);

  it('closes at the deadline that it shows, not before, and its stock is back; once it is paid, it has no such delay', async () => {
    const sku = await shop.newSku();
    const { id, payDeadline } = await shop.place(sku, 3);
    const paid = await shop.place(sku, 2);
    expect(await shop.act(paid.id, 'pay')).toMatchObject({ status: 'PAID', delays: [] });
    expect(await shop.stockOf(sku)).toBe(5);
    expect(await shop.order(id)).toMatchObject({
      payDeadline,
      delays: [{ name: 'order.close', state: 'scheduled', dueAt: payDeadline, attempts: 0 }],
    });

    await shop.time.advance('29m');
    expect((await shop.order(id)).status).toBe('UNPAID');
    await shop.time.advance('1m');

    const { timeline, ...closed } = await shop.order(id);
    expect(closed).toMatchObject({ status: 'CLOSED', closeReason: 'not paid in time', delays: [] });
    const end = { event: 'order closed', detail: 'not paid in time' };
    expect(timeline).toContainEqual(expect.objectContaining(end));
    expect((await shop.order(paid.id)).status).toBe('PAID');
    expect(await events(paid.id)).toContain('order.close cancelled');
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

    const rated = { review: { stars: 5, source: 'automatic' }, delays: [] };
    expect(await shop.order(id)).toMatchObject(rated);
    expect(await events(id)).toEqual(
      expect.arrayContaining(['order.confirm completed', 'order.rate completed']),
    );
    await change({ confirmAfter: null, rateAfter: null });
  });
});

it('an order closes at once, after a restart, if it became due while no shop was running', async () => {
  const shop = await RunningShop.open({ payWithinMs: 1_000 });
  const { id, payDeadline } = await shop.place(await shop.newSku());
  await shop.stop();
  await until(Date.now, (now) => now > Date.parse(payDeadline));
  await shop.start();
  const order = await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
  expect(order.payDeadline).toBe(payDeadline);
  await shop.close();
});
