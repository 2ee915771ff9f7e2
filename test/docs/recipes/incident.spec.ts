import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { DelayAdmin, type DelayInfo, type DelayName } from 'nestjs-delay-queue';
import { Recipe } from './recipe.js';

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
