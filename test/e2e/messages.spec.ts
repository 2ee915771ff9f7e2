import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { MessageView } from '../../src/shop/outbox/messages.schemas.js';
import { RunningShop } from './support/running-shop.js';
import { messagesOf } from './support/told.js';

const MINUTE_MS = 60_000;

/** See `rounds.ts`. */
const ROUND_MS = 500;

describe('what the buyer is told', () => {
  const shop = RunningShop.inItsTime({ remindBeforeMs: 20 * MINUTE_MS, smsAfterMs: MINUTE_MS });

  const place = async () => shop.place(await shop.newSku());
  const kinds = async (id: string) => (await messagesOf(shop, id)).map(({ kind }) => kind);
  const timers = async (id: string) => (await shop.order(id)).delays.map(({ name }) => name);
  const remindNow = async (id: string) => {
    const delays = shop.app.get(DelayService);
    await delays.schedule('order.remind', { orderId: id }, { after: 0, key: id });
    await shop.time.advance('1s');
  };

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

  it('the text message, the reminder and the end are sent once each, with what the order is about', async () => {
    const { id, total } = await place();
    await shop.time.advance('2m');
    expect(await kinds(id)).toEqual(['order.placed']);
    await shop.time.advance('39m');
    expect(await kinds(id)).toEqual(['order.reminder', 'order.placed']);
    // A second one, for whatever reason, is none.
    await remindNow(id);
    await shop.time.advance('20m');

    const { no, timeline, status } = await shop.order(id);
    expect(status).toBe('CLOSED');
    const messages = await messagesOf(shop, id);
    expect(messages.map(({ kind, state, text }) => [kind, state, text])).toEqual([
      ['order.closed', 'SENT', `Your order ${no} is closed.`],
      [
        'order.reminder',
        'SENT',
        `Your order ${no} over ${(total / 100).toFixed(2)} closes soon. Please pay it.`,
      ],
      ['order.placed', 'SENT', expect.stringContaining(`order ${no} `)],
    ]);
    expect(timeline.map(({ event, detail }) => `${event}: ${detail}`)).toEqual(
      expect.arrayContaining(['message sent: order.reminder', 'message sent: order.placed']),
    );
    const delivered = await shop.sql(`SELECT text FROM sample_message WHERE order_id = $1`, [id]);
    expect(delivered).toHaveLength(3);
  });

  it('paying ends the reminder and leaves the text message; a reminder that comes all the same says nothing', async () => {
    const { id } = await place();
    await shop.act(id, 'pay');
    expect(await timers(id)).toEqual(['order.sms']);
    await remindNow(id);
    await shop.time.advance('2m');
    expect(await kinds(id)).toEqual(['order.placed', 'order.paid']);
  });

  it('cancelling ends what is still to come', async () => {
    const { id } = await place();
    await shop.act(id, 'cancel');
    expect(await timers(id)).toEqual([]);
  });

  it('what the provider has taken is delivered once, though nobody wrote that down', async () => {
    await shop.sql(
      `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the shop died before it wrote that down'; END $$;
       CREATE TRIGGER lose BEFORE UPDATE OF sent_at ON outbox
         FOR EACH ROW WHEN (NEW.sent_at IS NOT NULL) EXECUTE FUNCTION lose()`,
    );
    const { id } = await shop.orderAfter('pay');
    const delivered = () =>
      shop.sql<unknown[]>(`SELECT FROM sample_message WHERE order_id = $1`, [id]);
    await shop.time.advance('1s');
    // The pause after a failure is 0.8 to 1 s: it may have been sent twice by now.
    const [message] = await messagesOf(shop, id);
    expect(message).toMatchObject({ state: 'WAITING' });
    expect(message?.attempts).toBeGreaterThan(0);
    expect(await delivered()).toHaveLength(1);
    await shop.sql(`DROP TRIGGER lose ON outbox; DROP FUNCTION lose()`);
    await shop.time.advance('5m');
    expect(await kinds(id)).toEqual(['order.placed', 'order.paid']);
    expect(await delivered()).toHaveLength(2);
  });

  it('pages go on after a message', async () => {
    const { id } = await shop.orderAfter('pay', 'ship', 'confirm');
    const all = await messagesOf(shop, id);
    expect(all.map(({ kind }) => kind)).toEqual(['order.completed', 'order.shipped', 'order.paid']);
    const { body } = await shop.get(`/messages?orderId=${id}&after=${all[0]!.id}`);
    expect(body.map(({ kind }: MessageView) => kind)).toEqual(['order.shipped', 'order.paid']);
  });
});
