import { afterEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { appModule } from '../../support/delay-node.js';
import { Recipe } from './recipe.js';

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

@Module({})
class Application {}

const receiptOf = (orderId: string) => ({
  orderId,
  email: orderId === 'bad' ? 'nobody' : ` ${orderId}@Example.org`,
});

describe('guards-and-interceptors.md', () => {
  it('a guard puts off, an interceptor measures, a pipe mends and refuses, a filter makes it final', async () => {
    recipe = await Recipe.open('guards-and-interceptors.md');
    const { delayQueue } = await recipe.load<{ delayQueue: DynamicModule }>('delay-queue.ts');
    const { Switches } = await recipe.load<{ Switches: Type }>('switches.ts');
    const { Meter } = await recipe.load<{ Meter: Type }>('durations.ts');
    await recipe.load('final-errors.ts');
    const { SendReceipt } = await recipe.load<{ SendReceipt: Type }>('send-receipt.ts');
    const off = new Set<string>();
    const recorded: string[] = [];
    const app = await recipe.startModule({
      module: Application,
      imports: [TypeOrmModule.forRoot({ type: 'postgres', url: recipe.database.url }), delayQueue],
      providers: [
        { provide: Switches, useValue: { isOff: async (name: string) => off.has(name) } },
        { provide: Meter, useValue: { record: (what: string) => recorded.push(what) } },
        SendReceipt,
      ],
    });
    await app.scheduleNow('receipt.send', ['1'], receiptOf);
    await app.ended('receipt.send', ['1']);
    expect(await recipe.sql('SELECT * FROM outbox')).toEqual([
      { order_id: '1', email: '1@example.org' },
    ]);
    expect(recorded).toEqual(['delay SendReceipt.send']);
    const dead = app.next('dead', 'receipt.send', 'bad');
    await app.scheduleNow('receipt.send', ['bad'], receiptOf);
    expect(await dead).toMatchObject({ attempt: 1, error: 'no address of bad' });
    off.add('receipt.send');
    const postponed = app.next('postponed', 'receipt.send', '2');
    await app.scheduleNow('receipt.send', ['2'], receiptOf);
    expect(await postponed).toMatchObject({ waitMs: 600_000 });
    expect(await recipe.sql('SELECT * FROM outbox')).toHaveLength(1);
  });
});

describe('where-handlers-stand.md', () => {
  it('one method has several names, a controller a handler, and a scoped provider its own delay', async () => {
    recipe = await Recipe.open('where-handlers-stand.md');
    const { Mail } = await recipe.load<{ Mail: Type }>('mail.ts');
    const { Subscriptions } = await recipe.load<{ Subscriptions: Type }>('subscriptions.ts');
    const { QuotesController } = await recipe.load<{
      QuotesController: Type<{ offer(body: { quoteId: string }): Promise<unknown> }>;
    }>('quotes.controller.ts');
    const { Audit, Tenant } = await recipe.load<{ Audit: Type; Tenant: Type }>('audit.ts');
    const sent: string[] = [];
    const send = async (to: string, about: string) => {
      if (to === 'broken') throw new Error('no such address');
      sent.push(`${to}: ${about}`);
    };
    const app = await recipe.startModule({
      ...appModule({
        url: recipe.database.url,
        providers: [{ provide: Mail, useValue: { send } }, Subscriptions, Tenant, Audit],
      }),
      controllers: [QuotesController],
    });
    await app.scheduleNow('subscription.ended', ['1'], () => ({ email: 'ada' }));
    await app.ended('subscription.ended', ['1']);
    const dead = app.next('dead', 'subscription.ends-soon', '2');
    await app.scheduleNow('subscription.ends-soon', ['2'], () => ({ email: 'broken' }));
    await dead;
    expect(sent.splice(0)).toEqual([
      'ada: subscription.ended',
      'support@example.org: subscription.ends-soon of broken',
    ]);

    await recipe.sql(`INSERT INTO quote VALUES ('7')`);
    await app.get(QuotesController).offer({ quoteId: '7' });
    await app.fire('quote.expire', '7');
    expect(await recipe.sql('SELECT * FROM quote')).toEqual([{ id: '7', state: 'EXPIRED' }]);

    await app.scheduleNow('account.audit', ['a', 'b'], (key) => ({ tenant: `shop-${key}` }));
    await app.ended('account.audit', ['a', 'b']);
    expect(sent.toSorted()).toEqual([
      'shop-a@example.org: audit of a',
      'shop-b@example.org: audit of b',
    ]);
  });
});
