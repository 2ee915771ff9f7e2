import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { atOnce, statusesOf } from './support/at-once.js';
import { RunningShop } from './support/running-shop.js';
import { isSent, messagesOf, messageWhen } from './support/told.js';
import { Webhook } from './support/webhook.js';

const HOUR_MS = 3_600_000;

describe('messages through a webhook', () => {
  let webhook: Webhook;
  let shop: RunningShop;

  beforeAll(async () => {
    webhook = await Webhook.open();
    // FullNames for a machine that is busy: who answers is not to be taken for one who is silent.
    const timeout = { messagesUrl: webhook.url, webhookTimeoutMs: 5_000 };
    shop = await RunningShop.open({ ...timeout, remindBeforeMs: HOUR_MS / 3 });
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
    const [message] = await messagesOf(shop, id);
    const { id: key, text } = message!;
    const body = { id: key, orderId: id, kind: 'order.paid', text };
    expect(webhook.of(id, 'order.paid')).toEqual([{ key, body }]);
    expect(text).toContain(`order ${no} `);
  });

  it.each([
    [307, /the webhook answered 307$/],
    [null, /the webhook did not answer within 5000 ms$/],
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

  it('are given up at once when it refuses them, and sent when somebody asks again', async () => {
    webhook.answers = 400;
    const { id } = await shop.orderAfter('pay');
    const failed = await messageWhen(shop, id, 'order.paid', ({ state }) => state === 'FAILED');
    expect(failed).toMatchObject({ attempts: 1, sentAt: null });
    webhook.answers = 204;
    const other = await shop.orderAfter('pay');
    await messageWhen(shop, other.id, 'order.paid', isSent);
    expect(webhook.of(id, 'order.paid')).toHaveLength(1);

    const ask = () => shop.post(`/messages/${failed.id}/send`);
    expect(statusesOf(await atOnce(6, ask))).toEqual([200]);
    await messageWhen(shop, id, 'order.paid', isSent);
    expect(await ask()).toMatchObject({ status: 200, body: { state: 'SENT' } });
    expect(new Set(webhook.of(id, 'order.paid').map(({ key }) => key)).size).toBe(1);
  });

  it('a reminder that could not be sent in time is dropped, not sent after the payment', async () => {
    webhook.answers = 503;
    const { id } = await shop.orderAfter();
    await shop.fallsDue('order.remind', id);
    const waits = await messageWhen(shop, id, 'order.reminder', ({ error }) => error !== null);
    // Not tried again while the order is being paid.
    await shop.app.get(DelayService).reschedule('message.send', waits.id, { after: '1h' });
    await shop.act(id, 'pay');
    const before = webhook.of(id, 'order.reminder').length;
    webhook.answers = 204;
    await shop.fallsDue('message.send', waits.id);
    await messageWhen(shop, id, 'order.reminder', ({ state }) => state === 'DROPPED');
    await messageWhen(shop, id, 'order.paid', isSent);
    expect(webhook.of(id, 'order.reminder')).toHaveLength(before);
    const { timeline } = await shop.order(id);
    const dropped = timeline.find(({ event }) => event === 'message dropped');
    expect(dropped?.detail).toBe('order.reminder');
  });
});
