import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OnDelay } from 'nestjs-delay-queue';
import { Recipe, type RunningApp } from './recipe.js';

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

const key = (): string => randomBytes(32).toString('base64');

@Module({})
class Application {}

const startWith = (delayQueue: DynamicModule, providers: Type[]): Promise<RunningApp> =>
  recipe!.startModule({
    module: Application,
    imports: [TypeOrmModule.forRoot({ type: 'postgres', url: recipe!.database.url }), delayQueue],
    providers,
  });

describe('payload-schemas.md', () => {
  interface Refunds {
    plan(orderId: string, cents: number): Promise<unknown>;
  }

  it('refuses what does not fit, and brings older rows up to date', async () => {
    recipe = await Recipe.open('payload-schemas.md');
    await recipe.load('refunds.schema.ts');
    const { delayQueue } = await recipe.load<{ delayQueue: DynamicModule }>('delay-queue.ts');
    const { Refunds } = await recipe.load<{ Refunds: Type<Refunds> }>('refunds.ts');
    const app = await startWith(delayQueue, [Refunds]);
    const refunds = app.get(Refunds);
    await expect(refunds.plan('0', 1.5)).rejects.toMatchObject({ code: 'DELAY_INVALID' });
    await refunds.plan('new', 250);
    await recipe.sql(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       SELECT 'refund.pay', orderId, payload, now() + '1 h', now() + '1 h', now()
       FROM (VALUES ('old', '{"orderId":"old","euros":"3.10"}'::jsonb), ('lost', '{}')) v(orderId, payload)`,
    );
    await app.fire('refund.pay', 'new');
    await app.fire('refund.pay', 'old');
    const dead = app.next('dead', 'refund.pay', 'lost');
    await app.makeDue('refund.pay', 'lost');
    expect(await dead).toMatchObject({ attempt: 1, cause: { code: 'DELAY_PAYLOAD' } });
    expect(await recipe.sql('SELECT * FROM refunds ORDER BY order_id')).toEqual([
      { order_id: 'new', cents: 250 },
      { order_id: 'old', cents: 310 },
    ]);
  });
});

describe('encrypted-payloads.md', () => {
  it('encrypts, reads what older keys have written, and opens in no other row', async () => {
    recipe = await Recipe.open('encrypted-payloads.md');
    await recipe.load('payload-cipher.ts');
    const { delayQueueWith } = await recipe.load<{
      delayQueueWith: (setting: string) => DynamicModule;
    }>('delay-queue.ts');
    const seen: unknown[] = [];
    class Calls {
      @OnDelay('customer.call' as never)
      call({ payload }: { payload: unknown }): void {
        seen.push(payload);
      }
    }
    const old = `2026-03:${key()}`;
    const before = await startWith(delayQueueWith(old), []);
    await before.schedule('customer.call', 'a', { phone: '+49 30 1' });
    await before.schedule('customer.call', 'moved', { phone: '+49 30 2' });
    await before.stop();
    const app = await startWith(delayQueueWith(`${old} 2026-11:${key()}`), [Calls]);
    await app.schedule('customer.call', 'b', { phone: '+49 30 3' });
    const rows = await recipe.sql<{ payload: string }>(
      'SELECT payload::text FROM delay_queue.delay ORDER BY id',
    );
    expect(rows.map(({ payload }) => /: "(2026-\d\d)\./.exec(payload)?.[1])).toEqual([
      '2026-03',
      '2026-03',
      '2026-11',
    ]);
    await app.fire('customer.call', 'a');
    await app.fire('customer.call', 'b');
    expect(seen).toEqual([{ phone: '+49 30 1' }, { phone: '+49 30 3' }]);
    await recipe.sql(`UPDATE delay_queue.delay SET key = 'other'`);
    const retrying = app.next('retrying', 'customer.call', 'other');
    await app.makeDue('customer.call', 'other');
    expect(await retrying).toMatchObject({ cause: { code: 'DELAY_CODEC' } });
    expect(seen).toHaveLength(2);
  });
});
