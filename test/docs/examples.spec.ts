import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { openPage } from './page.js';

const [PAID, UNPAID] = [
  '11111111-1111-4111-8111-111111111111',
  '22222222-2222-4222-8222-222222222222',
];

it("the README's example, run as it is: an order closes at its time unless it is paid", async () => {
  const page = await openPage('README.md', 'none');
  const { AppModule } = await page.load('app.module.ts');
  const { OrderTimers } = await page.load('order-timers.ts');
  const app = await page.run(AppModule);
  const timers = app.get(OrderTimers);
  const source = app.get(DataSource);
  await page.sql('CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL)');
  for (const id of ['a', 'b']) {
    await source.transaction(async (manager) => {
      await manager.query(`INSERT INTO orders VALUES ($1, 'UNPAID')`, [id]);
      await timers.placed(id, manager);
    });
  }
  await source.transaction(async (manager) => {
    await manager.query(`UPDATE orders SET status = 'PAID' WHERE id = 'a'`);
    await timers.paid('a', manager);
  });
  await app.fire('order.close', 'b');
  expect(await page.sql('SELECT * FROM orders ORDER BY id')).toEqual([
    { id: 'a', status: 'PAID' },
    { id: 'b', status: 'CLOSED' },
  ]);
  expect(await app.history('order.close', 'a')).toMatchObject([{ state: 'cancelled' }]);
});

it('the example of getting started, run as it is: an order closes at the deadline of its row unless it is paid', async () => {
  const page = await openPage('docs/getting-started.md', 'none');
  await page.load('migrate.ts');
  const { databaseOptions } = await page.load('database.ts');
  const tables = await new DataSource({ ...databaseOptions, synchronize: true }).initialize();
  await tables.destroy();
  const { AppModule } = await page.load('app.module.ts');
  const { OrderTimers } = await page.load('order-timers.ts');
  const app = await page.run(AppModule);
  const timers = app.get(OrderTimers);
  for (const id of [PAID, UNPAID]) await timers.place(id);
  const { dueAt } = (await app.find('order.close', UNPAID))!;
  await timers.pay(PAID);
  expect(await page.sql('SELECT status, "payDeadline" FROM orders ORDER BY id')).toMatchObject([
    { status: 'PAID' },
    { status: 'UNPAID', payDeadline: dueAt },
  ]);
  expect(await app.history('order.close', PAID)).toMatchObject([{ state: 'cancelled' }]);
  await app.fire('order.close', UNPAID);
  await expect(timers.pay(UNPAID)).rejects.toThrow('cannot be paid');
  expect(await page.sql('SELECT status FROM orders ORDER BY id')).toEqual([
    { status: 'PAID' },
    { status: 'CLOSED' },
  ]);
});
