import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import type { MessageView } from '../../src/shop/outbox/messages.schemas.js';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';
import { Webhook } from './support/webhook.js';

const HOUR_MS = 3_600_000;

const messagesOf = async (shop: RunningShop, orderId: string): Promise<MessageView[]> =>
  (await shop.get(`/messages?orderId=${orderId}`)).body;

/** The message of that kind, once it is in that state. */
async function messageWhen(
  shop: RunningShop,
  orderId: string,
  kind: string,
  accept: (message: MessageView) => boolean,
): Promise<MessageView> {
  const find = async () =>
    (await messagesOf(shop, orderId)).find((message) => message.kind === kind);
  const found = await until(find, (message) => message !== undefined && accept(message));
  return found!;
}

const isSent = ({ state }: MessageView): boolean => state === 'SENT';
const dueNow = (
  shop: RunningShop,
  name: 'order.close' | 'order.remind' | 'order.sms',
  id: string,
) => shop.app.get(DelayService).reschedule(name, id, { after: 0 });
const timers = (order: { delays: { name: string }[] }) => order.delays.map(({ name }) => name);

describe('what the buyer is told', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open({ remindBeforeMs: HOUR_MS / 3, smsAfterMs: HOUR_MS / 60 });
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  const place = async () => shop.place(await shop.newSku());

  it('placing schedules the close, the reminder before it and the text message', async () => {
    const before = Date.now();
    const { id, payDeadline } = await place();
    const { delays } = await shop.order(id);
    const due = Object.fromEntries(delays.map(({ name, dueAt }) => [name, Date.parse(dueAt)]));
    expect(Object.keys(due)).toEqual(['order.close', 'order.remind', 'order.sms']);
    expect(due['order.close']).toBe(Date.parse(payDeadline));
    expect(due['order.close']! - due['order.remind']!).toBe(HOUR_MS / 3);
    expect(due['order.sms']! - before).toBeGreaterThanOrEqual(HOUR_MS / 60);
    expect(due['order.sms']! - due['order.close']!).toBe(HOUR_MS / 60 - HOUR_MS);
  });

  it('an order that is refused leaves no timer', async () => {
    const sku = await shop.newSku({ stock: 1 });
    const count = async () =>
      (await shop.sql<unknown[]>(`SELECT FROM delay_queue.delay WHERE name LIKE 'order.%'`)).length;
    const before = await count();
    const answer = await shop.post('/orders', { items: [{ sku, quantity: 2 }] });
    expect(answer.status).toBe(409);
    expect(await count()).toBe(before);
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

  it('money that a provider reports ends the reminder, too', async () => {
    const { id, total } = await place();
    await shop.callback(id, total);
    expect(timers(await shop.order(id))).toEqual(['order.sms']);
  });

  it('cancelling ends all of them', async () => {
    const { id } = await place();
    expect(timers(await shop.act(id, 'cancel'))).toEqual([]);
  });

  it('closing ends what is still to come', async () => {
    const { id } = await place();
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

  it.each([
    ['orderId=42', /^orderId: /],
    ['after=x', /^after: /],
    ['after=-1', /^after: /],
    ['after=9999999999999999999', /^after: /],
    ['after=1&after=2', /^after: /],
  ])('GET /messages?%s is refused', async (query, message) => {
    const answer = await shop.get(`/messages?${query}`);
    expect(answer.status).toBe(400);
    expect(String(answer.body.message)).toMatch(message);
  });
});

describe('messages through a webhook', () => {
  let webhook: Webhook;
  let shop: RunningShop;

  beforeAll(async () => {
    webhook = await Webhook.open();
    shop = await RunningShop.open({
      remindBeforeMs: HOUR_MS / 3,
      messagesUrl: webhook.url,
      messagesTimeoutMs: 200,
    });
  });
  afterEach(async () => {
    webhook.answers = 204;
    await shop.mustHold();
  });
  afterAll(async () => {
    await shop.close();
    await webhook.close();
  });

  it('are posted as JSON with their id as idempotency key', async () => {
    const { id, no } = await shop.orderAfter('pay');
    await messageWhen(shop, id, 'order.paid', isSent);
    const [post, ...more] = webhook.of(id, 'order.paid');
    expect(more).toEqual([]);
    const [message] = await messagesOf(shop, id);
    expect(post).toEqual({
      key: message!.id,
      body: { id: message!.id, orderId: id, kind: 'order.paid', text: message!.text },
    });
    expect(message!.text).toContain(`order ${no} `);
  });

  it.each([
    [503, /^.*the webhook answered 503$/],
    [429, /the webhook answered 429$/],
    [307, /the webhook answered 307$/],
    [null, /the webhook did not answer within 200 ms$/],
  ])('are tried again when it answers %p, the same under the same key', async (answer, why) => {
    webhook.answers = answer;
    const { id } = await shop.orderAfter('pay');
    const failed = await messageWhen(shop, id, 'order.paid', ({ error }) => error !== null);
    expect(failed).toMatchObject({ state: 'WAITING', sentAt: null });
    expect(failed.error).toMatch(why);
    expect(JSON.stringify(failed)).not.toContain('secret-path');
    webhook.answers = 204;
    await messageWhen(shop, id, 'order.paid', isSent);
    const posts = webhook.of(id, 'order.paid');
    expect(posts.length).toBeGreaterThan(1);
    expect(new Set(posts.map((post) => JSON.stringify(post))).size).toBe(1);
  });

  it('are given up at once when it refuses them, and the others go on', async () => {
    webhook.answers = 400;
    const { id } = await shop.orderAfter('pay');
    const failed = await messageWhen(shop, id, 'order.paid', ({ state }) => state === 'FAILED');
    expect(failed).toMatchObject({ attempts: 1, sentAt: null });
    webhook.answers = 204;
    const other = await shop.orderAfter('pay');
    await messageWhen(shop, other.id, 'order.paid', isSent);
    expect(webhook.of(id, 'order.paid')).toHaveLength(1);

    const clicks = await Promise.all(
      Array.from({ length: 6 }, () => shop.post(`/messages/${failed.id}/send`)),
    );
    expect(new Set(clicks.map(({ status }) => status))).toEqual(new Set([200]));
    await messageWhen(shop, id, 'order.paid', isSent);
    const again = await shop.post(`/messages/${failed.id}/send`);
    expect(again).toMatchObject({ status: 200, body: { state: 'SENT' } });
    expect(new Set(webhook.of(id, 'order.paid').map(({ key }) => key)).size).toBe(1);
  });

  it.each(['0', '007', '999999999999999999', 'x', '-1', 'a%00b'])(
    'nobody knows a message %s',
    async (id) => {
      expect((await shop.post(`/messages/${id}/send`)).status).toBe(404);
    },
  );

  it('a reminder that could not be sent in time is dropped, not sent after the payment', async () => {
    webhook.answers = 503;
    const { id } = await shop.place(await shop.newSku());
    await dueNow(shop, 'order.remind', id);
    await messageWhen(shop, id, 'order.reminder', ({ error }) => error !== null);
    await shop.act(id, 'pay');
    const before = webhook.of(id, 'order.reminder').length;
    webhook.answers = 204;
    await messageWhen(shop, id, 'order.reminder', ({ state }) => state === 'DROPPED');
    await messageWhen(shop, id, 'order.paid', isSent);
    expect(webhook.of(id, 'order.reminder')).toHaveLength(before);
    const { timeline } = await shop.order(id);
    expect(timeline.find(({ event }) => event === 'message dropped')?.detail).toBe(
      'order.reminder',
    );
  });
});

it('a shutdown in the middle of a post spends no attempt', async () => {
  const webhook = await Webhook.open();
  const before = await RunningShop.open({ messagesUrl: webhook.url, messagesTimeoutMs: HOUR_MS });
  webhook.answers = null;
  const { id } = await before.orderAfter('pay');
  await until(
    () => webhook.of(id, 'order.paid').length,
    (posts) => posts === 1,
  );
  await before.stop();

  webhook.answers = 204;
  const after = await RunningShop.open({ messagesUrl: webhook.url }, before.database);
  const { id: messageId } = await messageWhen(after, id, 'order.paid', isSent);
  const [ended] = await until(
    () => after.app.get(DelayService).history('message.send', messageId),
    (records) => records.length > 0,
  );
  expect(ended).toMatchObject({ state: 'completed', attempts: 1, error: null });
  await after.close();
  await webhook.close();
});
