import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';
import { isSent, messagesOf, messageWhen } from './support/told.js';
import { Webhook } from './support/webhook.js';

const HOUR_MS = 3_600_000;

describe('messages through a webhook', () => {
  let webhook: Webhook;
  let shop: RunningShop;

  beforeAll(async () => {
    webhook = await Webhook.open();
    shop = await RunningShop.open({
      remindBeforeMs: HOUR_MS / 3,
      messagesUrl: webhook.url,
      // Enough for a machine that is busy: who answers is not to be taken for one who is silent.
      messagesTimeoutMs: 2_000,
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
    const [post] = webhook.of(id, 'order.paid');
    const [message] = await messagesOf(shop, id);
    expect(post).toEqual({
      key: message!.id,
      body: { id: message!.id, orderId: id, kind: 'order.paid', text: message!.text },
    });
    expect(message!.text).toContain(`order ${no} `);
  });

  it.each([
    [307, /the webhook answered 307$/],
    [null, /the webhook did not answer within 2000 ms$/],
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

  it('a reminder that could not be sent in time is dropped, not sent after the payment', async () => {
    webhook.answers = 503;
    const { id } = await shop.place(await shop.newSku());
    await shop.app.get(DelayService).reschedule('order.remind', id, { after: 0 });
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
  const shop = await RunningShop.open({ messagesUrl: webhook.url, messagesTimeoutMs: HOUR_MS });
  webhook.answers = null;
  const { id } = await shop.orderAfter('pay');
  await until(
    () => webhook.of(id, 'order.paid').length,
    (posts) => posts === 1,
  );
  await shop.stop();

  webhook.answers = 204;
  await shop.start();
  const { id: messageId } = await messageWhen(shop, id, 'order.paid', isSent);
  const [ended] = await until(
    () => shop.app.get(DelayService).history('message.send', messageId),
    (records) => records.length > 0,
  );
  expect(ended).toMatchObject({ state: 'completed', attempts: 1, error: null });
  await shop.close();
  await webhook.close();
});
