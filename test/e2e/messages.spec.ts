import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { MessageView } from '../../src/shop/outbox/messages.schemas.js';
import { RunningShop } from './support/running-shop.js';
import { dueNow, isSent, messagesOf, messageWhen } from './support/told.js';

const HOUR_MS = 3_600_000;

const timers = (order: { delays: { name: string }[] }) => order.delays.map(({ name }) => name);

/** See `rounds.ts`. */
const ROUND_MS = 500;

describe('what the buyer is told', () => {
  const shop = RunningShop.forAll({
    remindBeforeMs: HOUR_MS / 3,
    smsAfterMs: HOUR_MS / 60,
  });

  const place = async () => shop.place(await shop.newSku());

  it('placing schedules the close, the reminder before it and the text message', async () => {
    const before = Date.now();
    const { id, payDeadline } = await place();
    const { delays } = await shop.order(id);
    const due = Object.fromEntries(delays.map(({ name, dueAt }) => [name, Date.parse(dueAt)]));
    expect(Object.keys(due)).toEqual(['order.close', 'order.remind', 'order.sms']);
    expect(due['order.close']).toBe(Date.parse(payDeadline));
    const afterPlacing = { 'order.remind': HOUR_MS - HOUR_MS / 3, 'order.sms': HOUR_MS / 60 };
    for (const [name, ms] of Object.entries(afterPlacing)) {
      expect(due[name]).toBeGreaterThanOrEqual(before + ms);
      expect(due[name]).toBeLessThan(due['order.close']! - HOUR_MS + ms + ROUND_MS);
    }
  });

  it('what leaves within a round leaves together', async () => {
    const orders = await Promise.all(Array.from({ length: 8 }, place));
    const dueOf = async (name: string) =>
      (await Promise.all(orders.map(({ id }) => shop.order(id))))
        .flatMap(({ delays }) => delays.filter((delay) => delay.name === name))
        .map(({ dueAt }) => Date.parse(dueAt));
    for (const name of ['order.remind', 'order.sms']) {
      const due = await dueOf(name);
      expect(due).toHaveLength(8);
      expect(due.filter((at) => at % ROUND_MS !== 0)).toEqual([]);
    }
  });

  it('the reminder and the text message are sent once each, with what the order is about', async () => {
    const { id, total } = await place();
    await dueNow(shop, 'order.remind', id);
    await dueNow(shop, 'order.sms', id);
    const reminder = await messageWhen(shop, id, 'order.reminder', isSent);
    const placed = await messageWhen(shop, id, 'order.placed', isSent);
    const { no, timeline } = await shop.order(id);
    expect(reminder.text).toBe(
      `Your order ${no} over ${(total / 100).toFixed(2)} closes soon. Please pay it.`,
    );
    expect(placed.text).toContain(`order ${no} `);
    expect(timeline.map(({ event, detail }) => `${event}: ${detail}`)).toEqual(
      expect.arrayContaining(['message sent: order.reminder', 'message sent: order.placed']),
    );
    const delivered = await shop.sql(
      `SELECT text FROM sample_message WHERE order_id = $1 ORDER BY id`,
      [id],
    );
    expect(delivered).toHaveLength(2);
  });

  it('a second reminder, for whatever reason, is none', async () => {
    const { id } = await place();
    await dueNow(shop, 'order.remind', id);
    await messageWhen(shop, id, 'order.reminder', isSent);
    const delays = shop.app.get(DelayService);
    await delays.schedule('order.remind', { orderId: id }, { after: 0, key: id });
    await shop.orderWhen(id, (order) => !timers(order).includes('order.remind'));
    expect(await messagesOf(shop, id)).toHaveLength(1);
  });

  it('paying ends the reminder and leaves the text message', async () => {
    const { id } = await place();
    expect(timers(await shop.act(id, 'pay'))).toEqual(['order.sms']);
    await dueNow(shop, 'order.sms', id);
    await messageWhen(shop, id, 'order.placed', isSent);
    expect((await messagesOf(shop, id)).map(({ kind }) => kind)).toEqual([
      'order.placed',
      'order.paid',
    ]);
  });

  it('closing ends what is still to come, however it comes', async () => {
    const [cancelled, { id }] = [await place(), await place()];
    expect(timers(await shop.act(cancelled.id, 'cancel'))).toEqual([]);
    await dueNow(shop, 'order.close', id);
    const closed = await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
    expect(timers(closed)).toEqual([]);
    await messageWhen(shop, id, 'order.closed', isSent);
  });

  it('a reminder that meets a paid order says nothing', async () => {
    const { id } = await place();
    await shop.act(id, 'pay');
    const delays = shop.app.get(DelayService);
    await delays.schedule('order.remind', { orderId: id }, { after: 0, key: id });
    await shop.orderWhen(id, (order) => !timers(order).includes('order.remind'));
    expect((await messagesOf(shop, id)).map(({ kind }) => kind)).toEqual(['order.paid']);
  });

  it('what the provider has taken is delivered once, though nobody wrote that down', async () => {
    await shop.sql(
      `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the shop died before it wrote that down'; END $$;
       CREATE TRIGGER lose BEFORE UPDATE OF sent_at ON outbox
         FOR EACH ROW WHEN (NEW.sent_at IS NOT NULL) EXECUTE FUNCTION lose()`,
    );
    const { id } = await shop.orderAfter('pay');
    await messageWhen(shop, id, 'order.paid', ({ attempts, error }) => attempts > 0 && !!error);
    const delivered = () =>
      shop.sql<unknown[]>(`SELECT FROM sample_message WHERE order_id = $1`, [id]);
    expect(await delivered()).toHaveLength(1);
    await shop.sql(`DROP TRIGGER lose ON outbox; DROP FUNCTION lose()`);
    await messageWhen(shop, id, 'order.paid', isSent);
    expect(await delivered()).toHaveLength(1);
  });

  it('pages go on after a message', async () => {
    const { id } = await shop.orderAfter('pay', 'ship', 'confirm');
    const all = await messagesOf(shop, id);
    expect(all.map(({ kind }) => kind)).toEqual(['order.completed', 'order.shipped', 'order.paid']);
    const { body } = await shop.get(`/messages?orderId=${id}&after=${all[0]!.id}`);
    expect(body.map(({ kind }: MessageView) => kind)).toEqual(['order.shipped', 'order.paid']);
  });
});
