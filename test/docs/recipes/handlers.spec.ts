import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { DynamicModule, Provider } from '@nestjs/common';
import { OnDelay } from 'nestjs-delay-queue';
import { appModule } from '../../support/delay-node.js';
import { readDocument } from '../documents.js';
import { type App, recipe } from '../page.js';

/** What an application has beside the module of the page, and everywhere. */
function everywhere(provider: Provider): DynamicModule {
  class Everywhere {}
  return { module: Everywhere, global: true, providers: [provider], exports: [provider] };
}

it('around-handlers.md: a handler runs in a span, with a request id, as the tenant of its payload', async () => {
  const [page, { Tracer, delayQueue, AroundModule, SendInvoice }] =
    await recipe('around-handlers.md');
  const spans: unknown[] = [];
  const inSpan = async (name: string, attributes: object, work: () => Promise<void>) => {
    const over = await work().then(
      () => 'ok',
      (error: Error) => error,
    );
    spans.push({ name, ...attributes, over });
    if (over instanceof Error) throw over;
  };
  const tracer = everywhere({ provide: Tracer, useValue: { inSpan } });
  const app = await page.startWith([tracer, delayQueue, AroundModule], [SendInvoice]);
  await app.scheduleNow('invoice.send', ['1', '2'], (key) => ({ invoiceId: key, tenant: key }));
  await app.ended('invoice.send', '1', '2');
  const [ended] = await app.history('invoice.send', '1');
  expect(await page.sql('SELECT * FROM sent ORDER BY invoice')).toMatchObject([
    { tenant: '1', tenant_of_session: '1', request_id: `delay-${ended?.id}` },
    { tenant: '2', tenant_of_session: '2' },
  ]);
  const dead = app.next('dead', 'invoice.send', '3');
  await app.scheduleNow('invoice.send', ['3'], () => ({ invoiceId: '3' }));
  expect(await dead).toMatchObject({ error: 'the payload names no tenant' });
  expect(spans).toEqual([
    expect.objectContaining({ name: 'delay invoice.send', attempt: 1, delays: 1, over: 'ok' }),
    expect.objectContaining({ over: 'ok' }),
    expect.objectContaining({ over: expect.objectContaining({ name: 'DiscardDelay' }) }),
  ]);
});

it('guards-and-interceptors.md: a guard puts off, an interceptor measures, a pipe mends and refuses, a filter makes it final', async () => {
  const [page, code] = await recipe('guards-and-interceptors.md');
  const off = new Set<string>();
  const recorded: string[] = [];
  const app = await page.startWith(
    [code['delayQueue']],
    [
      { provide: code['Switches'], useValue: { isOff: async (name: string) => off.has(name) } },
      { provide: code['Meter'], useValue: { record: (what: string) => recorded.push(what) } },
      code['SendReceipt'],
    ],
  );
  const send = async (kind: string, orderId: string, email: string) => {
    const happened = app.next(kind, 'receipt.send', orderId);
    await app.scheduleNow('receipt.send', [orderId], () => ({ orderId, email }));
    return happened;
  };
  await send('completed', '1', ' 1@Example.org');
  expect(recorded).toEqual(['delay SendReceipt.send']);
  const refused = { attempt: 1, error: 'no address of bad' };
  expect(await send('dead', 'bad', 'nobody')).toMatchObject(refused);
  off.add('receipt.send');
  expect(await send('postponed', '2', '2@example.org')).toMatchObject({ waitMs: 600_000 });
  expect(await page.sql('SELECT * FROM outbox')).toEqual([
    { order_id: '1', email: '1@example.org' },
  ]);
});

it('where-handlers-stand.md: one method has several names, a controller a handler, and a scoped provider its own delay', async () => {
  const [page, code] = await recipe('where-handlers-stand.md');
  const { Mail, Subscriptions, QuotesController, Audit, Tenant } = code;
  const sent: string[] = [];
  const send = async (to: string, about: string) => {
    if (to === 'broken') throw new Error('no such address');
    sent.push(`${to}: ${about}`);
  };
  const providers = [{ provide: Mail, useValue: { send } }, Subscriptions, Tenant, Audit];
  const { url } = page.database;
  const app = await page.run({
    ...appModule({ url, providers }),
    controllers: [QuotesController],
  });
  await app.scheduleNow('subscription.ended', ['1'], () => ({ email: 'ada' }));
  await app.ended('subscription.ended', '1');
  const dead = app.next('dead', 'subscription.ends-soon', '2');
  await app.scheduleNow('subscription.ends-soon', ['2'], () => ({ email: 'broken' }));
  await dead;
  expect(sent.splice(0)).toEqual([
    'ada: subscription.ended',
    'support@example.org: subscription.ends-soon of broken',
  ]);

  await page.sql(`INSERT INTO quote VALUES ('7')`);
  await app.get(QuotesController).offer({ quoteId: '7' });
  await app.fire('quote.expire', '7');
  expect(await page.sql('SELECT * FROM quote')).toEqual([{ id: '7', state: 'EXPIRED' }]);

  await app.scheduleNow('account.audit', ['a', 'b'], (key) => ({ tenant: `shop-${key}` }));
  await app.ended('account.audit', 'a', 'b');
  expect(sent.toSorted()).toEqual([
    'shop-a@example.org: audit of a',
    'shop-b@example.org: audit of b',
  ]);
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

it('payload-schemas.md: refuses what does not fit, and brings older rows up to date', async () => {
  const [page, { delayQueue, Refunds }] = await recipe('payload-schemas.md');
  const app = await page.startWith([delayQueue], [Refunds]);
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

it('encrypted-payloads.md: encrypts, reads what older keys have written, and opens in no other row', async () => {
  const [page, { delayQueueWith }] = await recipe('encrypted-payloads.md');
  const seen: unknown[] = [];
  class Calls {
    @OnDelay('customer.call' as never)
    call({ payload }: { payload: unknown }): void {
      seen.push(payload);
    }
  }
  const [old, current] = ['2026-03', '2026-11'].map(
    (number) => `${number}:${randomBytes(32).toString('base64')}`,
  );
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
