import { afterEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Global, Module, type Provider, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Recipe } from './recipe.js';

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

const invoiceOf = (key: string) => ({ invoiceId: key, tenant: `shop-${key}` });

/** What an application has beside the module of the page. */
function applicationWith(providers: Provider[], imports: DynamicModule['imports'] = []) {
  @Global()
  @Module({ providers, exports: providers })
  class Telemetry {}

  @Module({})
  class Application {}
  const database = TypeOrmModule.forRoot({ type: 'postgres', url: recipe!.database.url });
  return { module: Application, imports: [database, Telemetry, ...imports] };
}

describe('around-handlers.md', () => {
  it('a handler runs in a span, with a request id, as the tenant of its payload', async () => {
    recipe = await Recipe.open('around-handlers.md');
    const { Tracer } = await recipe.load<{ Tracer: Type }>('tracing.ts');
    await recipe.load('request-context.ts');
    await recipe.load('tenants.ts');
    const { delayQueue, AroundModule } = await recipe.load<{
      delayQueue: DynamicModule;
      AroundModule: Type;
    }>('delay-queue.ts');
    const { SendInvoice } = await recipe.load<{ SendInvoice: Type }>('send-invoice.ts');
    const spans: unknown[] = [];
    const inSpan = async (name: string, attributes: object, work: () => Promise<void>) => {
      const over = await work().then(
        () => 'ok',
        (error: Error) => error,
      );
      spans.push({ name, ...attributes, over });
      if (over instanceof Error) throw over;
    };
    const app = await recipe.startModule({
      ...applicationWith([{ provide: Tracer, useValue: { inSpan } }], [delayQueue, AroundModule]),
      providers: [SendInvoice],
    });
    await app.scheduleNow('invoice.send', ['1', '2'], invoiceOf);
    await app.ended('invoice.send', ['1', '2']);
    const ids = (await app.history('invoice.send', '1')).map(({ id }) => id);
    expect(await recipe.sql('SELECT * FROM sent ORDER BY invoice')).toMatchObject([
      { tenant: 'shop-1', tenant_of_session: 'shop-1', request_id: `delay-${ids[0]}` },
      { tenant: 'shop-2', tenant_of_session: 'shop-2' },
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
});
