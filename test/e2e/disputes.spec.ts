import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { Client } from 'pg';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { RunningShop } from './support/running-shop.js';

const HOUR_MS = 3_600_000;
const REASON = { reason: 'nothing arrived' };

const timers = ({ delays }: OrderView) => delays.map(({ name }) => name);
const left = (order: OrderView) =>
  Object.fromEntries(order.dispute!.frozen.map(({ name, leftMs }) => [name, leftMs]));
const now = ({ serverNow }: OrderView) => Date.parse(serverNow);

describe('an order under dispute', () => {
  const shop = RunningShop.forAll({ smsAfterMs: HOUR_MS });

  const dispute = (id: string) => shop.act(id, 'dispute', REASON);

  it('has no timer, keeps the time that was left for each, and goes on where it stopped', async () => {
    const shipped = await shop.orderAfter('pay', 'ship');
    const { id } = shipped;
    const disputed = await dispute(id);
    expect(disputed).toMatchObject({
      status: 'SHIPPED',
      autoConfirmAt: null,
      delays: [],
      dispute: REASON,
    });
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
    expect((await shop.act(id, 'confirm')).status).toBe('COMPLETED');
  });

  it('is rated by itself only after the release', async () => {
    const { id } = await shop.orderAfter('pay', 'ship', 'confirm');
    const disputed = await dispute(id);
    expect(Object.keys(left(disputed))).toEqual(['order.rate', 'order.sms']);
    // An attempt that comes all the same, as one that began before the dispute.
    const delays = shop.app.get(DelayService);
    await delays.schedule('order.rate', { orderId: id }, { after: 0, key: id });
    await shop.orderWhen(id, (order) => timers(order).length === 0);
    expect((await shop.order(id)).review).toBeNull();
    await shop.act(id, 'release');
    await delays.reschedule('order.rate', id, { after: 0 });
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
    for (const action of actions.slice(0, 1)) await shop.act(id, action, { stars: 1 });
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
});

describe('a dispute about an order that is just being confirmed', () => {
  const shop = RunningShop.forAll();

  it('wins when it came first, and then the confirmation has its turn', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    const session = new Client({ connectionString: shop.database.url });
    await session.connect();
    try {
      await session.query('BEGIN');
      await session.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [id]);
      const opening = shop.act(id, 'dispute', REASON);
      await shop.untilWaiting(1);
      await shop.app.get(DelayService).reschedule('order.confirm', id, { after: 0 });
      await shop.untilWaiting(2);
      await session.query('COMMIT');
      expect(left(await opening)).toEqual({ 'order.confirm': 0 });
    } finally {
      await session.end();
    }
    expect(await shop.orderWhen(id, ({ delays }) => delays.length === 0)).toMatchObject({
      status: 'SHIPPED',
      dispute: { frozen: [{ name: 'order.confirm', leftMs: 0 }] },
    });
    await shop.act(id, 'release');
    await shop.orderWhen(id, ({ status }) => status === 'COMPLETED');
  });

  it('is not released while an attempt from before it may still be under way', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    const lease = (by: string | null) =>
      shop.sql(
        `UPDATE delay_queue.delay
         SET leased_by = $2, leased_until = CASE WHEN $2::text IS NOT NULL THEN 'infinity'::timestamptz END,
             wake_at = clock_timestamp(), epoch = epoch + 1
         WHERE name = 'order.confirm' AND key = $1`,
        [id, by],
      );
    await lease('a node that hangs');
    expect(left(await shop.act(id, 'dispute', REASON))).toHaveProperty(['order.confirm']);
    const early = await shop.post(`/orders/${id}/release`);
    expect(early.status).toBe(409);
    expect(early.body.detail).toContain('an attempt of its order.confirm is not over; try again');
    expect((await shop.order(id)).dispute).toMatchObject(REASON);

    // Its node comes to itself; what it finds is an order under dispute.
    await lease(null);
    await shop.app.get(DelayService).reschedule('order.confirm', id, { after: 0 });
    await shop.orderWhen(id, ({ delays }) => delays.length === 0);
    expect((await shop.act(id, 'release')).status).toBe('SHIPPED');
  });
});
