import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { setTimeout as pause } from 'node:timers/promises';
import { RunningShop } from './support/running-shop.js';

const RACES = 40;
/** Extensions arrive from so long before the confirmation to so long after it. */
const AROUND_MS = 20;

let shop: RunningShop;

beforeAll(async () => {
  shop = await RunningShop.open();
});
afterEach(() => shop.mustHold());
afterAll(() => shop.close());

it('extending while it confirms itself: one of the two, and the deadline is that of its delay', async () => {
  const orders = await Promise.all(
    Array.from({ length: RACES }, () => shop.orderAfter('pay', 'ship')),
  );
  const at = new Date(Date.now() + 1_500);
  await shop.app
    .get(DelayService)
    .scheduleMany(
      orders.map(({ id }) => ({ name: 'order.confirm', payload: { orderId: id }, key: id, at })),
    );
  await shop.sql(`UPDATE orders SET auto_confirm_at = $1`, [at]);

  const answers = await Promise.all(
    orders.map(async ({ id }, i) => {
      await pause(at.getTime() - Date.now() - AROUND_MS + ((2 * AROUND_MS) / RACES) * i);
      return shop.post(`/orders/${id}/extend`);
    }),
  );

  expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
  for (const [i, { id }] of orders.entries()) {
    const extended = answers[i]!.status === 200;
    const order = await shop.orderWhen(
      id,
      ({ status }) => status === (extended ? 'SHIPPED' : 'COMPLETED'),
    );
    expect(order.extended).toBe(extended);
    if (!extended) continue;
    expect(Date.parse(order.autoConfirmAt!)).toBe(at.getTime() + order.terms.confirmAfterMs);
    expect(order.delays).toMatchObject([{ name: 'order.confirm', dueAt: order.autoConfirmAt }]);
  }
});

it('extending gives a confirmation that was given up its time again', async () => {
  const { id, autoConfirmAt, terms } = await shop.orderAfter('pay', 'ship');
  await shop.app
    .get(DelayService)
    .schedule('order.confirm', { orderId: 'no uuid' }, { after: 0, key: id, maxAttempts: 1 });
  await shop.orderWhen(id, ({ delays }) => delays[0]?.state === 'dead');

  const extended = await shop.act(id, 'extend');

  expect(Date.parse(extended.autoConfirmAt!)).toBe(
    Date.parse(autoConfirmAt!) + terms.confirmAfterMs,
  );
  expect(extended.delays).toEqual([
    { name: 'order.confirm', state: 'scheduled', dueAt: extended.autoConfirmAt, attempts: 0 },
  ]);
});
