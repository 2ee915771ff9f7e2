import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayAdmin,
  DelayEvents,
  type DelayInfo,
  type DelayName,
  DelayService,
  OnDelay,
} from 'nestjs-delay-queue';
import { Recipe } from './recipe.js';

interface Support {
  around(key: string): Promise<string[]>;
}

interface Incident {
  howMany(): Promise<number>;
  repair(signal: AbortSignal): Promise<number>;
  page(after?: string): Promise<DelayInfo[]>;
}

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

describe('after-an-incident.md', () => {
  it('discards those of one shop and retries the others', async () => {
    recipe = await Recipe.open('after-an-incident.md');
    const { Incident } = await recipe.load<{ Incident: Type<Incident> }>('incident.ts');
    const app = await recipe.start([Incident]);
    await recipe.sql(
      `INSERT INTO delay_queue.delay (name, key, due_at, wake_at, created_at, attempts, last_error, payload)
     SELECT 'receipt.confirm', 'shop-' || shop || '/' || n, now(), 'infinity', now(), 3, error, '{}'
     FROM generate_series(1, 60) n, (VALUES (7, 'ECONNREFUSED'), (8, 'econnrefused'), (9, 'no row')) s(shop, error)`,
    );
    const incident = app.get(Incident);
    expect(await incident.howMany()).toBe(120);
    const first = await incident.page();
    expect(first).toHaveLength(50);
    expect((await incident.page(first.at(-1)?.id))[0]?.id).not.toBe(first[0]?.id);
    expect(await incident.repair(new AbortController().signal)).toBe(60);
    const admin = app.get(DelayAdmin);
    const left = { name: 'receipt.confirm' as DelayName };
    expect(await admin.count({ ...left, state: 'scheduled', keyPrefix: 'shop-8/' })).toBe(60);
    expect(await admin.count({ ...left, state: 'dead', keyPrefix: 'shop-9/' })).toBe(60);
    expect(await admin.count({ ...left, keyPrefix: 'shop-7/' })).toBe(0);
  });
});

const ORDER_CLOSE = 'order.close' as DelayName;

describe('what-happened.md', () => {
  it('tells every attempt of an order, across names', async () => {
    recipe = await Recipe.open('what-happened.md');
    const { Support } = await recipe.load<{ Support: Type<Support> }>('support.ts');
    const { AppModule } = await recipe.load<{ AppModule: Type }>('app.module.ts');
    let calls = 0;
    class Handlers {
      @OnDelay(ORDER_CLOSE)
      close(): void {
        calls += 1;
        if (calls === 1) throw new Error('ECONNREFUSED');
      }
    }
    @Module({})
    class Root {}
    const database = TypeOrmModule.forRoot({ type: 'postgres', url: recipe.database.url });
    const app = await recipe.startModule({
      module: Root,
      imports: [database, AppModule],
      providers: [Support, Handlers],
    });
    const delays = app.get(DelayService);
    await delays.schedule('receipt.confirm' as DelayName, null, {
      after: '14d',
      key: '42',
    });
    const completed = once(app.get(DelayEvents), 'completed');
    await delays.schedule(ORDER_CLOSE, null, { after: 0, key: '42' });
    await completed;
    const told = await app.get<Support>(Support).around('42');
    const at = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    expect(told).toEqual([
      'order.close: completed',
      expect.stringMatching(`^  attempt 1 on \\S+, ${at}: failed, Error: ECONNREFUSED$`),
      expect.stringMatching(`^  attempt 2 on \\S+, ${at}: completed$`),
      'receipt.confirm: scheduled',
    ]);
  });
});
