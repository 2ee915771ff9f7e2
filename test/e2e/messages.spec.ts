import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { MessageView } from '../../src/shop/outbox/messages.schemas.js';
import { atOnce } from './support/at-once.js';
import { refuseWrite } from './support/faults.js';
import { RunningShop } from './support/running-shop.js';
import { messagesOf } from './support/told.js';

const MINUTE_MS = 60_000;

/** See `rounds.ts`. */
const ROUND_MS = 500;

describe('what the buyer is told', () => {
  const shop = RunningShop.inItsTime({ remindBeforeMs: 20 * MINUTE_MS, smsAfterMs: MINUTE_MS });

  const kinds = async (id: string) => (await messagesOf(shop, id)).map(({ kind }) => kind);
  const timers = async (id: string) => (await shop.order(id)).delays.map(({ name }) => name);
  const delivered = (id: string) =>
    shop.sql<unknown[]>(`SELECT FROM sample_message WHERE order_id = $1`, [id]);
  const remindNow = async (id: string) => {
    const when = { after: 0, key: id };
    await shop.app.get(DelayService).schedule('order.remind', { orderId: id }, when);
    await shop.time.advance('1s');
  };

  // First of all: the shop says by SQL's clock when a message goes out, and time that passes takes the queue's ahead of that.
  it('what the provider has taken is delivered once, though nobody wrote that down', async () => {
    const letWrite = await refuseWrite(
      shop,
      'UPDATE OF sent_at ON outbox',
      'NEW.sent_at IS NOT NULL',
    );
    const { id } = await shop.orderAfter('pay');
    await shop.time.advance('1s');
    // The pause after a failure is 0.8 to 1 s: it may have been sent twice by now.
    const [message] = await messagesOf(shop, id);
    expect(message).toMatchObject({ state: 'WAITING' });
    expect(message?.attempts).toBeGreaterThan(0);
    expect(await delivered(id)).toHaveLength(1);
    await letWrite();
    await shop.time.advance('5m');
    expect(await kinds(id)).toEqual(['order.placed', 'order.paid']);
    expect(await delivered(id)).toHaveLength(2);
  });

  it('what leaves within a round leaves together', async () => {
    const orders = await atOnce(4, () => shop.orderAfter());
    const due = orders
      .flatMap(({ delays }) => delays.filter(({ name }) => name !== 'order.close'))
      .map(({ name, dueAt }) => [name, Date.parse(dueAt) % ROUND_MS]);
    expect(due).toEqual(
      orders.flatMap(() => [
        ['order.remind', 0],
        ['order.sms', 0],
      ]),
    );
  });

  it('the text message, the reminder and the end are sent once each, with what the order is about', async () => {
    const { id, no, total } = await shop.orderAfter();
    await shop.time.advance('2m');
    expect(await kinds(id)).toEqual(['order.placed']);
    await shop.time.advance('39m');
    expect(await kinds(id)).toEqual(['order.reminder', 'order.placed']);
    // A second one, for whatever reason, is none.
    await remindNow(id);
    await shop.time.advance('20m');

    const { timeline, status } = await shop.order(id);
    expect(status).toBe('CLOSED');
    const messages = await messagesOf(shop, id);
    const price = (total / 100).toFixed(2);
    expect(messages.map(({ kind, state, text }) => [kind, state, text])).toEqual([
      ['order.closed', 'SENT', `Your order ${no} is closed.`],
      ['order.reminder', 'SENT', `Your order ${no} for ${price} closes soon. Please pay it.`],
      ['order.placed', 'SENT', expect.stringContaining(`order ${no} `)],
    ]);
    expect(timeline.map(({ event, detail }) => `${event}: ${detail}`)).toEqual(
      expect.arrayContaining(['message sent: order.reminder', 'message sent: order.placed']),
    );
    expect(await delivered(id)).toHaveLength(3);
    const { body } = await shop.get(`/messages?orderId=${id}&after=${messages[0]!.id}`);
    expect(body.map(({ kind }: MessageView) => kind)).toEqual(['order.reminder', 'order.placed']);
  });

  it('paying ends the reminder and leaves the text message, cancelling ends both; a reminder that comes all the same says nothing', async () => {
    const { id } = await shop.orderAfter('pay');
    expect(await timers(id)).toEqual(['order.sms']);
    await remindNow(id);
    await shop.time.advance('2m');
    expect(await kinds(id)).toEqual(['order.placed', 'order.paid']);
    const cancelled = { status: 'CLOSED', closeReason: 'cancelled by buyer', delays: [] };
    expect(await shop.orderAfter('cancel')).toMatchObject(cancelled);
  });
});
