import { afterEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Recipe } from './recipe.js';

interface Orders {
  place(orderId: string): Promise<void>;
}

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

@Module({})
class Application {}

describe('surrounding-transaction.md', () => {
  it('a delay lives and dies with the transaction around the call, in a handler too', async () => {
    recipe = await Recipe.open('surrounding-transaction.md');
    await recipe.load('transactions.ts');
    const { delayQueue, TransactionsModule } = await recipe.load<{
      delayQueue: DynamicModule;
      TransactionsModule: Type;
    }>('delay-queue.ts');
    const { Orders } = await recipe.load<{ Orders: Type<Orders> }>('orders.ts');
    const database = TypeOrmModule.forRoot({ type: 'postgres', url: recipe.database.url });
    const app = await recipe.startModule({
      module: Application,
      imports: [database, TransactionsModule, delayQueue],
      providers: [Orders],
    });
    const orders = app.get(Orders);
    await orders.place('1');
    const { dueAt } = (await app.find('order.close', '1'))!;
    await expect(orders.place('1')).rejects.toThrow('duplicate key');
    expect(await app.find('order.close', '1')).toMatchObject({ dueAt });
    await app.fire('order.close', '1');
    expect(await recipe.sql('SELECT * FROM orders')).toEqual([{ id: '1', status: 'CLOSED' }]);
    expect(await app.waitsSeconds('order.rate', '1')).toBe(48 * 3_600);
  });
});
