import { expect, it } from '@jest/globals';
import { signal } from '../../support/delay-node.js';
import { recipe } from '../page.js';

const MINUTE_MS = 60_000;

/** What a provider is asked for. */
interface Sent {
  to: string;
  text: string;
  idempotencyKey: string;
}

const nothing = async (): Promise<void> => {};

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

it('messages.md: goes on after a crash with the same ids, stops behind a batch, and reaches everybody once', async () => {
  const [page, { Campaigns, BulkMessages }] = await recipe('messages.md');
  const batches: string[][] = [];
  let onBatch = nothing;
  const send = async (messages: { id: string }[]): Promise<void> => {
    batches.push(messages.map(({ id }) => id));
    await onBatch();
  };
  const app = await page.start([Campaigns, { provide: BulkMessages, useValue: { send } }]);
  const campaigns = app.get(Campaigns);
  const phones = Array.from({ length: 250 }, (_, n) => String(1_000 + n));
  const startAt = new Date(Date.now() + 60 * MINUTE_MS);
  await campaigns.create('c', 'Sale!', [...phones, '1000'], startAt);
  await expect(campaigns.resume('c')).rejects.toThrow('is not stopped');
  expect(await app.find('campaign.step', 'c')).toMatchObject({ dueAt: startAt });

  // Sent, and never written down.
  onBatch = () => Promise.reject(new Error('the connection died'));
  await app.fire('campaign.step', 'c', 'retrying');
  onBatch = nothing;
  await app.fire('campaign.step', 'c', 'superseded');
  expect(batches[1]).toEqual(batches[0]);

  onBatch = () => campaigns.stop('c');
  await app.fire('campaign.step', 'c', 'superseded');
  await app.fire('campaign.step', 'c');
  expect(await app.find('campaign.step', 'c')).toBeNull();
  expect(batches).toHaveLength(3);

  // From outside of the handler: what it calls itself about its own key is another matter.
  const inBatch = signal();
  const go = signal();
  onBatch = () => {
    inBatch.resolve();
    return go.promise;
  };
  await campaigns.resume('c');
  const moved = app.fire('campaign.step', 'c', 'superseded');
  await inBatch.promise;
  await campaigns.stop('c');
  await expect(campaigns.resume('c')).rejects.toThrow('its last batch is on its way');
  go.resolve();
  await moved;
  await campaigns.resume('c');
  await app.fire('campaign.step', 'c');
  expect(batches).toHaveLength(4);
  expect(new Set(batches.flat())).toEqual(new Set(phones.map((phone) => `c:${phone}`)));
  expect(
    await page.sql('SELECT count(*)::int, count(sent_at)::int AS sent FROM campaign_recipient'),
  ).toEqual([{ count: 250, sent: 250 }]);
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
