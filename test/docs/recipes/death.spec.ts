import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Recipe } from './recipe.js';

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

describe('when-a-delay-dies.md', () => {
  it('a charge that gives up leaves one task, together with the dead letter', async () => {
    recipe = await Recipe.open('when-a-delay-dies.md');
    const { Bank, Charges } = await recipe.load<{ Bank: Type; Charges: Type }>('charges.ts');
    const bank = {
      charge: (orderId: string) =>
        orderId === 'poor' ? Promise.reject(new Error('no money')) : Promise.resolve(),
    };
    const app = await recipe.start([{ provide: Bank, useValue: bank }, Charges]);
    await recipe.sql(`INSERT INTO charge VALUES ('poor'), ('rich')`);
    const dead = app.next('dead', 'order.charge', 'poor');
    const completed = app.next('completed', 'order.charge', 'rich');
    await app.scheduleNow('order.charge', ['poor', 'rich'], (orderId) => ({ orderId }));
    await dead;
    await completed;
    expect(await recipe.sql(`SELECT * FROM support_task`)).toEqual([
      { order_id: 'poor', why: 'Error: no money' },
    ]);
    expect(await recipe.sql(`SELECT order_id, state FROM charge ORDER BY 1`)).toEqual([
      { order_id: 'poor', state: 'FAILED' },
      { order_id: 'rich', state: 'OPEN' },
    ]);
    expect(await app.find('order.charge', 'poor')).toMatchObject({ state: 'dead', attempts: 3 });
  });
});
