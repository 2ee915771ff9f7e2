import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { DelayAdmin, type DelayPause, type GroupStats } from 'nestjs-delay-queue';
import { until } from '../../support/until.js';
import { Recipe } from './recipe.js';

interface Receipts {
  paid(shopId: string, orderId: string): Promise<void>;
}

interface Provider {
  send(shopId: string | null, text: string): Promise<void>;
}

interface Support {
  providerIsDown(): Promise<DelayPause>;
  shopIsClosed(shopId: string): Promise<DelayPause>;
  providerIsBack(): Promise<DelayPause | null>;
}

interface Tenants {
  late(): Promise<GroupStats[]>;
  hurt(): Promise<GroupStats[]>;
  of(shopId: string): Promise<GroupStats[]>;
}

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

describe('groups-limits-and-pauses.md', () => {
  it('sends to each shop one at a time, but not to one that is paused', async () => {
    recipe = await Recipe.open('groups-limits-and-pauses.md');
    const { Receipts } = await recipe.load<{ Receipts: Type<Receipts> }>('receipts.ts');
    const { Messages } = await recipe.load<{ Messages: Type }>('messages.ts');
    const { Support } = await recipe.load<{ Support: Type<Support> }>('support.ts');
    const { Tenants } = await recipe.load<{ Tenants: Type<Tenants> }>('tenants.ts');
    const { Provider } = await recipe.load<{ Provider: Type<Provider> }>('provider.ts');
    const sent: string[] = [];
    const running = new Set<string | null>();
    const provider: Provider = {
      async send(shopId) {
        expect(running.has(shopId)).toBe(false);
        running.add(shopId);
        await new Promise(setImmediate);
        running.delete(shopId);
        sent.push(String(shopId));
      },
    };
    const provided = { provide: Provider, useValue: provider };
    const app = await recipe.start([Receipts, Messages, Support, Tenants, provided]);
    const support = app.get(Support);
    await support.shopIsClosed('shop-7');
    await support.providerIsDown();
    for (const shop of ['shop-7', 'shop-8', 'shop-9', 'shop-8', 'shop-9', 'shop-8']) {
      await app.get(Receipts).paid(shop, '1');
    }
    const admin = app.get(DelayAdmin);
    expect(await admin.runNow({ name: 'message.send' })).toMatchObject({ due: 6 });
    expect((await admin.stats()).pauses).toHaveLength(2);
    const tenants = app.get(Tenants);
    const late = await until(
      () => tenants.late(),
      (groups) => groups.every(({ overdue }) => overdue > 0),
    );
    expect(late.map(({ group, overdue, paused }) => [group, overdue, paused])).toEqual([
      ['shop-8', 3, true],
      ['shop-9', 2, true],
      ['shop-7', 1, true],
    ]);
    expect(await tenants.of('shop-8')).toMatchObject([{ name: 'message.send', scheduled: 3 }]);
    expect(await tenants.hurt()).toEqual([]);
    expect(sent).toEqual([]);
    expect(await support.providerIsBack()).toMatchObject({ reason: 'the provider is down' });
    await until(
      () => sent.length,
      (length) => length === 5,
    );
    expect(sent).not.toContain('shop-7');
    expect(await admin.count({ group: 'shop-7' })).toBe(1);
  });
});
