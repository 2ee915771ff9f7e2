import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { signal } from '../../support/delay-node.js';
import { Recipe } from './recipe.js';

const MINUTE_MS = 60_000;

let recipe: Recipe | undefined;
/** What the provider of a page was asked for. */
let sent: { to: string; text: string; idempotencyKey: string }[] = [];

beforeEach(() => {
  sent = [];
});

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

const nothing = (): Promise<void> => Promise.resolve();

describe('reminder.md', () => {
  interface Reminders {
    place(orderId: string, phone: string, payWithinMs: number): Promise<void>;
  }

  it('reminds ten minutes before the close, if there is that much time and nobody has paid', async () => {
    recipe = await Recipe.open('reminder.md');
    const { Reminders, TextMessages } = await recipe.load<{
      Reminders: Type<Reminders>;
      TextMessages: Type;
    }>('reminders.ts');
    const send = async (message: (typeof sent)[0]): Promise<void> => void sent.push(message);
    const app = await recipe.start([Reminders, { provide: TextMessages, useValue: { send } }]);
    const reminders = app.get(Reminders);
    await reminders.place('slow', '1', 30 * MINUTE_MS);
    await reminders.place('paid', '2', 30 * MINUTE_MS);
    await reminders.place('short', '3', 10 * MINUTE_MS);
    const close = await app.find('order.close', 'slow');
    const remind = await app.find('order.remind', 'slow');
    expect(Number(close?.dueAt) - Number(remind?.dueAt)).toBe(10 * MINUTE_MS);
    expect(await app.find('order.remind', 'short')).toBeNull();
    await recipe.sql(`UPDATE orders SET status = 'PAID' WHERE id = 'paid'`);
    await app.fire('order.remind', 'slow');
    await app.fire('order.remind', 'paid');
    expect(sent).toEqual([
      {
        to: '1',
        text: 'Ten minutes left to pay.',
        idempotencyKey: expect.stringMatching(`^delay-${remind?.id}-\\d+$`),
      },
    ]);
  });
});

describe('message-after-a-minute.md', () => {
  interface Thanks {
    place(orderId: string, phone: string): Promise<void>;
  }

  it('tries again with the same key, waits while the provider is busy, gives up what cannot be', async () => {
    recipe = await Recipe.open('message-after-a-minute.md');
    const { Thanks, TextMessages } = await recipe.load<{
      Thanks: Type<Thanks>;
      TextMessages: Type;
    }>('thanks.ts');
    const answers: Record<string, (string | Error)[]> = {
      fails: [new Error('500'), 'sent'],
      busy: ['busy'],
      wrong: ['no such number'],
    };
    const send = async (message: (typeof sent)[0]): Promise<string> => {
      sent.push(message);
      const answer = answers[message.to]?.shift();
      if (typeof answer !== 'string') throw answer;
      return answer;
    };
    const app = await recipe.start([Thanks, { provide: TextMessages, useValue: { send } }]);
    for (const phone of ['fails', 'busy', 'wrong', 'cancelled']) {
      await app.get(Thanks).place(phone, phone);
    }
    await recipe.sql(`UPDATE orders SET status = 'CANCELLED' WHERE id = 'cancelled'`);
    expect(await app.waitsSeconds('order.sms', 'busy')).toBe(60);
    await app.fire('order.sms', 'cancelled');
    expect(sent).toEqual([]);

    const retrying = app.next('retrying', 'order.sms', 'fails');
    await app.makeDue('order.sms', 'fails');
    expect((await retrying).waitMs).toBeLessThanOrEqual(2_000);
    await app.fire('order.sms', 'fails');
    const keys = sent.map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toEqual([keys[0], keys[0]]);

    const postponed = app.next('postponed', 'order.sms', 'busy');
    await app.makeDue('order.sms', 'busy');
    expect((await postponed).waitMs).toBe(30_000);
    const dead = app.next('dead', 'order.sms', 'wrong');
    await app.makeDue('order.sms', 'wrong');
    await dead;
    expect(await app.find('order.sms', 'wrong')).toMatchObject({
      state: 'dead',
      lastError: expect.stringContaining('no such number'),
    });
  });
});

describe('campaign.md', () => {
  interface Campaigns {
    create(id: string, text: string, phones: string[], startAt: Date): Promise<void>;
    stop(id: string): Promise<void>;
    resume(id: string): Promise<void>;
  }

  it('goes on after a crash with the same ids, stops behind a batch, and reaches everybody once', async () => {
    recipe = await Recipe.open('campaign.md');
    const page = recipe;
    const { Campaigns, BulkMessages } = await page.load<{
      Campaigns: Type<Campaigns>;
      BulkMessages: Type;
    }>('campaigns.ts');
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
    expect(await app.find('campaign.step', 'c')).toMatchObject({ dueAt: startAt });

    await expect(campaigns.resume('c')).rejects.toThrow('is not stopped');
    expect(await app.find('campaign.step', 'c')).toMatchObject({ dueAt: startAt });

    // Sent, and never written down.
    onBatch = () => Promise.reject(new Error('the connection died'));
    const failed = app.next('retrying', 'campaign.step', 'c');
    await app.makeDue('campaign.step', 'c');
    await failed;
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
    const moved = app.next('superseded', 'campaign.step', 'c');
    await campaigns.resume('c');
    await app.makeDue('campaign.step', 'c');
    await inBatch.promise;
    await campaigns.stop('c');
    await expect(campaigns.resume('c')).rejects.toThrow('its last batch is on its way');
    go.resolve();
    await moved;
    expect(batches).toHaveLength(4);
    const over = app.next('completed', 'campaign.step', 'c');
    await campaigns.resume('c');
    await app.makeDue('campaign.step', 'c');
    await over;
    expect(batches).toHaveLength(4);
    expect(new Set(batches.flat())).toEqual(new Set(phones.map((phone) => `c:${phone}`)));
    expect(
      await page.sql('SELECT count(*)::int, count(sent_at)::int AS sent FROM campaign_recipient'),
    ).toEqual([{ count: 250, sent: 250 }]);
  });
});

/** Who is written to is what becomes of it. */
const answerOfEach = (messages: { to: string }[]): Promise<string[]> =>
  Promise.resolve(messages.map(({ to }) => to));

describe('many-at-once.md', () => {
  it('closes what is unpaid and leaves the rest, many in one transaction', async () => {
    recipe = await Recipe.open('many-at-once.md');
    await recipe.sql(`CREATE TABLE orders (id text PRIMARY KEY, status text)`);
    await recipe.sql(
      `CREATE TABLE outbox (order_id text, kind text, at xid8 DEFAULT pg_current_xact_id())`,
    );
    const { CloseOrders } = await recipe.load<{ CloseOrders: Type }>('close-orders.ts');
    const writer = await recipe.start([], { worker: false });
    const ids = Array.from({ length: 20 }, (_, n) => `order-${10 + n}`);
    await recipe.sql(
      `INSERT INTO orders SELECT id, CASE id WHEN 'order-10' THEN 'PAID' ELSE 'UNPAID' END
       FROM unnest($1::text[]) AS id`,
      [ids],
    );
    await writer.delays.scheduleMany(
      ids.map((orderId) => ({ name: 'order.close', payload: { orderId }, key: orderId, after: 0 })),
    );
    const app = await recipe.start([CloseOrders]);
    await app.ended('order.close', ids);
    const closed = await recipe.sql<{ transactions: number; orders: number }>(
      `SELECT count(DISTINCT at)::int AS transactions, count(*)::int AS orders FROM outbox`,
    );
    expect(closed[0]?.orders).toBe(19);
    expect(closed[0]?.transactions).toBeLessThan(19);
    expect(await recipe.sql(`SELECT id FROM orders WHERE status <> 'CLOSED'`)).toEqual([
      { id: 'order-10' },
    ]);
  });

  it('says of each message of a request what became of it', async () => {
    recipe = await Recipe.open('many-at-once.md');
    const { SendMessages, Provider } = await recipe.load<{ SendMessages: Type; Provider: Type }>(
      'send-messages.ts',
    );
    const app = await recipe.start([
      SendMessages,
      { provide: Provider, useValue: { send: answerOfEach } },
    ]);
    const ends = Promise.all([
      app.next('completed', 'message.send', 'sent'),
      app.next('postponed', 'message.send', 'busy'),
      app.next('dead', 'message.send', 'no such number'),
      app.next('retrying', 'message.send', 'failed'),
    ]);
    await app.scheduleNow('message.send', ['sent', 'busy', 'no such number', 'failed'], (to) => ({
      to,
      text: 'Hello',
    }));
    expect((await ends).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
  });
});
