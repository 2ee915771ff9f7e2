import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Recipe } from './recipe.js';

interface SearchIndex {
  changed(productId: string, manager: EntityManager): Promise<Date>;
}

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

describe('debounce.md', () => {
  it('waits for quiet, and not longer than it may', async () => {
    recipe = await Recipe.open('debounce.md');
    const { SearchIndex } = await recipe.load<{ SearchIndex: Type<SearchIndex> }>(
      'search-index.ts',
    );
    const app = await recipe.start([SearchIndex]);
    const dataSource = app.get(DataSource);
    const change = () =>
      dataSource.transaction((manager) => app.get(SearchIndex).changed('p1', manager));
    const first = await change();
    expect(Number(await change())).toBeGreaterThan(Number(first));
    await recipe.sql(
      `UPDATE delay_queue.delay SET created_at = created_at - interval '290 seconds'`,
    );
    const before = await app.find('product.index', 'p1');
    // An instant has fractions of a millisecond, which a Date drops and a due time rounds up.
    const waitsMs = Number(await change()) - Number(before?.createdAt);
    expect([300_000, 300_001]).toContain(waitsMs);
    await app.fire('product.index', 'p1');
    expect(await app.find('product.index', 'p1')).toBeNull();
  });
});
