import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { type DelayHeaders, OnDelay } from 'nestjs-delay-queue';
import { readDocument } from '../documents.js';
import { type App, recipe } from '../page.js';

/** Jest cannot load what is CommonJS and requires Nest: `cls.spec.ts` runs it. */
const IN_CLS = ['cls.ts'];

it('around-handlers.md: a handler runs with the request id and as the tenant of who scheduled it', async () => {
  const [page, code] = await recipe('around-handlers.md', IN_CLS);
  const { delayQueue, ContextModule, SendInvoice } = code;
  const app = await page.startWith([delayQueue, ContextModule], [SendInvoice]);
  const send = (invoiceId: string, headers: DelayHeaders) =>
    app.delays.schedule('invoice.send' as never, { invoiceId } as never, {
      after: 0,
      key: invoiceId,
      headers,
    });
  await send('1', { tenant: 'a', 'request-id': 'request-7' });
  const { id } = await send('2', { tenant: 'b' });
  await app.ended('invoice.send', '1', '2');
  expect(await page.sql('SELECT * FROM sent ORDER BY invoice')).toMatchObject([
    { tenant: 'a', tenant_of_session: 'a', request_id: 'request-7' },
    { tenant: 'b', tenant_of_session: 'b', request_id: `delay-${id}` },
  ]);
  const dead = app.next('dead', 'invoice.send', '3');
  await send('3', {});
  expect(await dead).toMatchObject({ error: 'the delay names no tenant' });
});

it('around-handlers.md: a guard puts off, a pipe mends and refuses, a filter makes it final', async () => {
  const [page, { delayQueue, ContextModule, Switches, SendReceipt }] = await recipe(
    'around-handlers.md',
    IN_CLS,
  );
  const off = new Set<string>();
  const switches = {
    provide: Switches,
    useValue: { isOff: async (name: string) => off.has(name) },
  };
  const app = await page.startWith([delayQueue, ContextModule], [switches, SendReceipt]);
  const send = async (kind: string, orderId: string, email: string) => {
    const happened = app.next(kind, 'receipt.send', orderId);
    await app.delays.schedule('receipt.send' as never, { orderId, email } as never, {
      after: 0,
      key: orderId,
      headers: { tenant: 'a' },
    });
    return happened;
  };
  await send('completed', '1', ' 1@Example.org');
  const refused = { attempt: 1, error: 'no address of bad' };
  expect(await send('dead', 'bad', 'nobody')).toMatchObject(refused);
  off.add('receipt.send');
  expect(await send('postponed', '2', '2@example.org')).toMatchObject({ waitMs: 600_000 });
  expect(await page.sql('SELECT * FROM outbox')).toEqual([
    { order_id: '1', email: '1@example.org' },
  ]);
});

it('around-handlers.md: one method has several names, and an instance for each delay', async () => {
  const [page, { Mail, Subscriptions, Tenant }] = await recipe('around-handlers.md', IN_CLS);
  const sent: string[] = [];
  const send = async (to: string, about: string) => {
    if (to === 'broken') throw new Error('no such address');
    sent.push(`${to}: ${about}`);
  };
  const app = await page.start([{ provide: Mail, useValue: { send } }, Subscriptions, Tenant]);
  const schedule = (name: string, email: string) =>
    app.delays.schedule(name as never, { email } as never, {
      after: 0,
      key: email,
      headers: { tenant: 'shop-1' },
    });
  await schedule('subscription.ended', 'ada');
  await app.ended('subscription.ended', 'ada');
  const dead = app.next('dead', 'subscription.ends-soon', 'broken');
  await schedule('subscription.ends-soon', 'broken');
  await dead;
  expect(sent).toEqual(['ada: subscription.ended of shop-1', 'support@example.org: to broken']);
});

it('surrounding-transaction.md: a delay lives and dies with the transaction around the call, in a handler too', async () => {
  // nestjs-cls is CommonJS and asks for Nest, whose modules only Node itself can require: joined-transactions.spec runs it.
  const [page, code] = await recipe('surrounding-transaction.md', ['app.module.ts']);
  const { TransactionsModule, delayQueue, Orders } = code;
  const app = await page.startWith([TransactionsModule, delayQueue], [Orders]);
  const orders = app.get(Orders);
  await orders.place('1');
  const { dueAt } = (await app.find('order.close', '1'))!;
  await expect(orders.place('1')).rejects.toThrow('duplicate key');
  expect(await app.find('order.close', '1')).toMatchObject({ dueAt });
  await app.fire('order.close', '1');
  expect(await page.sql('SELECT * FROM orders')).toEqual([{ id: '1', status: 'CLOSED' }]);
  expect(await app.waitsSeconds('order.rate', '1')).toBe(48 * 3_600);
});

const keyNumber = (number: string): string => `${number}:${randomBytes(32).toString('base64')}`;

it('payloads.md: refuses what does not fit, and brings older rows up to date', async () => {
  const [page, { delayQueueWith, Refunds }] = await recipe('payloads.md');
  const app = await page.startWith([delayQueueWith(keyNumber('2026-03'))], [Refunds]);
  const refunds = app.get(Refunds);
  await expect(refunds.plan('0', 1.5)).rejects.toMatchObject({ code: 'DELAY_INVALID' });
  await refunds.plan('new', 250);
  await page.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
   SELECT 'refund.pay', orderId, payload, now() + '1 h', now() + '1 h', now()
   FROM (VALUES ('old', '{"orderId":"old","euros":"3.10"}'::jsonb), ('lost', '{}')) v(orderId, payload)`,
  );
  await app.fire('refund.pay', 'new');
  await app.fire('refund.pay', 'old');
  const refused = { attempt: 1, cause: { code: 'DELAY_PAYLOAD' } };
  expect(await app.fire('refund.pay', 'lost', 'retrying')).toMatchObject(refused);
  expect(await page.sql('SELECT * FROM refunds ORDER BY order_id')).toEqual([
    { order_id: 'new', cents: 250 },
    { order_id: 'old', cents: 310 },
  ]);
});

const plan = (app: App, key: string) =>
  app.delays.schedule('customer.call' as never, { phone: key } as never, { after: '1h', key });

it('payloads.md: encrypts, reads what older keys have written, and opens in no other row', async () => {
  const [page, { delayQueueWith }] = await recipe('payloads.md');
  const seen: unknown[] = [];
  class Calls {
    @OnDelay('customer.call' as never)
    call({ payload }: { payload: unknown }): void {
      seen.push(payload);
    }
  }
  const [old, current] = ['2026-03', '2026-11'].map(keyNumber);
  const before = await page.startWith([delayQueueWith(old)]);
  await plan(before, 'a');
  await before.stop();
  const app = await page.startWith([delayQueueWith(`${old} ${current}`)], [Calls]);
  await plan(app, 'b');
  expect(
    await page.sql(
      `SELECT substring(payload::text FROM ': "(2026-\\d\\d)\\.') AS number FROM delay_queue.delay ORDER BY id`,
    ),
  ).toEqual([{ number: '2026-03' }, { number: '2026-11' }]);
  await app.fire('customer.call', 'a');
  expect(seen).toEqual([{ phone: 'a' }]);
  await app.stop();
  const closes = await page.startWith([delayQueueWith(current)]);
  await closes.delays.schedule('order.close' as never, 'renamed' as never, {
    after: '1h',
    key: 'c',
  });
  const { text } = readDocument('docs/operations.md');
  const [, rename = ''] = /^### Rename\n+```sql\n(.*?)```/ms.exec(text) ?? [];
  await page.sql(rename);
  class Expires {
    @OnDelay('order.expire' as never)
    expire({ payload }: { payload: unknown }): void {
      seen.push(payload);
    }
  }
  await closes.stop();
  const former = { 'order.expire': 'order.close' };
  const renamed = await page.startWith([delayQueueWith(current, former)], [Calls, Expires]);
  await renamed.fire('order.expire', 'c');
  expect(seen.splice(1)).toEqual(['renamed']);
  await page.sql(`UPDATE delay_queue.delay SET key = 'other'`);
  const refused = await renamed.fire('customer.call', 'other', 'retrying');
  expect(refused).toMatchObject({ cause: { code: 'DELAY_CODEC' } });
  expect(seen).toHaveLength(1);
});
