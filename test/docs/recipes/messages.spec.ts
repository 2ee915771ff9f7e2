import { expect, it } from '@jest/globals';
import { DelayAdmin, type DelayName } from 'nestjs-delay-queue';
import { recipe } from '../page.js';

const MINUTE_MS = 60_000;

/** What a provider is asked for. */
interface Sent {
  to: string;
  text: string;
  idempotencyKey: string;
}

it('messages.md: tries again with the same key, waits while the provider is busy, gives up what cannot be', async () => {
  const [page, { Thanks, TextMessages }] = await recipe('messages.md');
  const sent: Sent[] = [];
  const answers: Record<string, (string | Error)[]> = {
    fails: [new Error('500'), 'sent'],
    busy: ['busy'],
    wrong: ['no such number'],
  };
  const send = async (message: Sent): Promise<string> => {
    sent.push(message);
    const answer = answers[message.to]?.shift();
    if (typeof answer !== 'string') throw answer;
    return answer;
  };
  const app = await page.start([Thanks, { provide: TextMessages, useValue: { send } }]);
  for (const phone of ['fails', 'busy', 'wrong', 'cancelled']) {
    await app.get(Thanks).place(phone, phone);
  }
  expect(await app.waitsSeconds('order.sms', 'busy')).toBe(60);
  await page.sql(`UPDATE orders SET status = 'CANCELLED' WHERE id = 'cancelled'`);
  await app.fire('order.sms', 'cancelled');
  expect(sent).toEqual([]);

  const { waitMs } = await app.fire('order.sms', 'fails', 'retrying');
  expect(waitMs).toBeLessThanOrEqual(2_000);
  await app.fire('order.sms', 'fails');
  const keys = sent.map(({ idempotencyKey }) => idempotencyKey);
  expect(keys).toEqual([keys[0], keys[0]]);

  expect(await app.fire('order.sms', 'busy', 'postponed')).toMatchObject({ waitMs: 30_000 });
  const { error } = await app.fire('order.sms', 'wrong', 'dead');
  expect(error).toContain('no such number');
});

it('messages.md: a campaign is there once, pauses, resumes, reaches everybody once, and stops', async () => {
  const [page, { Campaigns, BulkMessages }] = await recipe('messages.md');
  const sent: string[] = [];
  const send = async ({ to, text }: { to: string; text: string }) => void sent.push(to + text);
  const app = await page.start([Campaigns, { provide: BulkMessages, useValue: { send } }]);
  const campaigns = app.get(Campaigns);
  const admin = app.get(DelayAdmin);
  const phones = Array.from({ length: 10 }, (_, n) => String(1_000 + n));
  const startAt = new Date(Date.now() + 60 * MINUTE_MS);
  for (const id of ['c', 'd']) await campaigns.create(id, 'Sale!', phones, startAt);
  await expect(campaigns.create('c', 'Sale!', ['1'], startAt)).rejects.toThrow('duplicate key');
  expect(await app.find('campaign.send', 'c/1000')).toMatchObject({ dueAt: startAt, group: 'c' });
  expect(await admin.count({ group: 'c' })).toBe(10);

  await campaigns.pause('c');
  expect(await admin.runNow({ group: 'c' })).toMatchObject({ due: 10 });
  expect(await admin.explain('campaign.send' as DelayName, 'c/1000')).toMatchObject({
    reason: 'paused',
  });
  expect(sent).toEqual([]);
  await campaigns.resume('c');
  await app.ended('campaign.send', ...phones.map((phone) => `c/${phone}`));
  expect(sent.toSorted()).toEqual(phones.map((phone) => `${phone}Sale!`));
  await campaigns.stop('d');
  expect(await admin.count({})).toBe(0);
});

/** Who is written to is what becomes of it. */
const answers = async (messages: { to: string }[]) => messages.map(({ to }) => to);

it('many-at-once.md: closes what is unpaid many in one transaction, and says of each message what became of it', async () => {
  const [page, { CloseOrders, Provider, SendMessages }] = await recipe('many-at-once.md');
  await page.sql(`CREATE TABLE orders (id text, status text)`);
  await page.sql(
    `CREATE TABLE outbox (order_id text, kind text, at xid8 DEFAULT pg_current_xact_id())`,
  );
  await page.sql(
    `INSERT INTO orders VALUES ('a', 'PAID'), ('b', 'UNPAID'), ('c', 'UNPAID'), ('d', 'UNPAID')`,
  );
  const writer = await page.start([], { worker: false });
  await writer.scheduleNow('order.close', ['a', 'b', 'c', 'd'], (orderId) => ({ orderId }));
  const provider = { provide: Provider, useValue: { send: answers } };
  const app = await page.start([CloseOrders, SendMessages, provider]);
  await app.ended('order.close', 'a', 'b', 'c', 'd');
  const [closed] = await page.sql(
    `SELECT count(DISTINCT at)::int < 3 AS together, count(*)::int AS orders FROM outbox`,
  );
  expect(closed).toEqual({ together: true, orders: 3 });
  expect(await page.sql(`SELECT id FROM orders WHERE status <> 'CLOSED'`)).toEqual([{ id: 'a' }]);

  const ends = Promise.all([
    app.next('completed', 'message.send', 'sent'),
    app.next('postponed', 'message.send', 'busy'),
    app.next('dead', 'message.send', 'no such number'),
    app.next('retrying', 'message.send', 'failed'),
  ]);
  const messages = ['sent', 'busy', 'no such number', 'failed'];
  await app.scheduleNow('message.send', messages, (to) => ({ to, text: 'Hello' }));
  expect((await ends).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
});
