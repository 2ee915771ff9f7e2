import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { whileOrderHeld } from './support/faults.js';
import { RunningShop } from './support/running-shop.js';

const HOUR_MS = 3_600_000;
const REASON = { reason: 'nothing arrived' };

const timers = ({ delays }: OrderView) => delays.map(({ name }) => name);
const left = (order: OrderView) =>
  Object.fromEntries(order.dispute!.frozen.map(({ name, leftMs }) => [name, leftMs]));
const now = ({ serverNow }: OrderView) => Date.parse(serverNow);

const hasNo = (timer: string) => (order: OrderView) => !timers(order).includes(timer);

describe('an order under dispute', () => {
  const shop = RunningShop.forAll({ smsAfterMs: HOUR_MS });

  const dispute = (id: string) => shop.act(id, 'dispute', REASON);

  it('has no timer, keeps the time that was left for each, and goes on where it stopped', async () => {
    const shipped = await shop.orderAfter('pay', 'ship');
    const { id } = shipped;
    const disputed = await dispute(id);
    const stopped = { status: 'SHIPPED', autoConfirmAt: null, delays: [], dispute: REASON };
    expect(disputed).toMatchObject(stopped);
    expect(Object.keys(left(disputed))).toEqual(['order.confirm', 'order.sms']);
    // What was left when it was frozen, between the answer before and the answer after.
    const dueMs = Date.parse(shipped.autoConfirmAt!);
    expect(left(disputed)['order.confirm']).toBeLessThanOrEqual(dueMs - now(shipped));
    expect(left(disputed)['order.confirm']).toBeGreaterThanOrEqual(dueMs - now(disputed));

    const released = await shop.act(id, 'release');
    expect(timers(released)).toEqual(['order.confirm', 'order.sms']);
    expect(released.dispute).toBeNull();
    for (const { name, dueAt } of released.delays) {
      const startedMs = Date.parse(dueAt) - left(disputed)[name]!;
      expect(startedMs).toBeGreaterThanOrEqual(now(disputed));
      expect(startedMs).toBeLessThanOrEqual(now(released));
    }
    expect(released.autoConfirmAt).toBe(released.delays[0]!.dueAt);
    expect(released.timeline.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['dispute opened', 'order.confirm cancelled', 'dispute released']),
    );
  });

  it('is rated by itself only after the release', async () => {
    const { id } = await shop.orderAfter('pay', 'ship', 'confirm');
    expect(Object.keys(left(await dispute(id)))).toEqual(['order.rate', 'order.sms']);
    // An attempt that comes all the same, as one that began before the dispute.
    const atOnce = { after: 0, key: id };
    await shop.app.get(DelayService).schedule('order.rate', { orderId: id }, atOnce);
    expect((await shop.orderWhen(id, hasNo('order.rate'))).review).toBeNull();
    await shop.act(id, 'release');
    await shop.fallsDue('order.rate', id);
    await shop.orderWhen(id, ({ review }) => review?.source === 'automatic');
  });

  it.each([
    ['PAID', ['pay'], ['ship']],
    ['SHIPPED', ['pay', 'ship'], ['confirm', 'extend']],
    ['COMPLETED', ['pay', 'ship', 'confirm'], ['review']],
  ])('that is %s is moved by nobody', async (status, path, actions) => {
    const { id } = await shop.orderAfter(...path);
    await dispute(id);
    for (const action of actions) {
      const answer = await shop.post(`/orders/${id}/${action}`, { stars: 1 });
      expect(answer.status).toBe(409);
      expect(answer.body.detail).toContain(`it is ${status} and under dispute`);
    }
    expect(await shop.order(id)).toMatchObject({ status, extended: false, review: null });
    await shop.act(id, 'release');
    await shop.act(id, actions[0]!, { stars: 1 });
  });

  it.each([{}, { reason: '   ' }, { reason: 'x'.repeat(501) }])(
    'is not opened by %j',
    async (body) => {
      const { id } = await shop.orderAfter('pay');
      const answer = await shop.post(`/orders/${id}/dispute`, body);
      expect(answer.status).toBe(400);
      expect(answer.body.detail).toMatch(/^reason: /);
    },
  );

  it('wins over a confirmation that came second, which has its turn after the release', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    const [opening] = await whileOrderHeld(shop, id, async () => {
      const answer = shop.act(id, 'dispute', REASON);
      await shop.untilWaiting(1);
      await shop.fallsDue('order.confirm', id);
      await shop.untilWaiting(2);
      return [answer];
    });
    expect(left(await opening)['order.confirm']).toBe(0);
    const { status, dispute: still } = await shop.orderWhen(id, hasNo('order.confirm'));
    expect([status, still?.frozen[0]]).toEqual(['SHIPPED', { name: 'order.confirm', leftMs: 0 }]);
    await shop.act(id, 'release');
    await shop.orderWhen(id, (order) => order.status === 'COMPLETED');
  });

  it('is not released while an attempt from before it may still be under way', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    const lease = (by: string | null) =>
      shop.sql(
        `UPDATE delay_queue.delay
         SET leased_by = $2, leased_until = CASE WHEN $2::text IS NOT NULL THEN timestamptz '9999-01-01' END,
             wake_at = clock_timestamp(), epoch = epoch + 1
         WHERE name = 'order.confirm' AND key = $1`,
        [id, by],
      );
    await lease('a node that hangs');
    expect(left(await dispute(id))).toHaveProperty(['order.confirm']);
    const early = await shop.post(`/orders/${id}/release`);
    expect(early.status).toBe(409);
    expect(early.body.detail).toContain('an attempt of its order.confirm is not over; try again');
    expect((await shop.order(id)).dispute).toMatchObject(REASON);

    // Its node comes to itself; what it finds is an order under dispute.
    await lease(null);
    await shop.fallsDue('order.confirm', id);
    await shop.orderWhen(id, hasNo('order.confirm'));
    expect((await shop.act(id, 'release')).status).toBe('SHIPPED');
  });
});
