import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayEvents, DelayService, runMigrations } from 'nestjs-delay-queue';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import type { AppModule } from './app.module.js';
import { OrdersService } from './orders.service.js';
import { PrismaService } from './prisma.service.js';

/** The application of docs/orms.md. */

let database: TestDatabase;
let app: INestApplicationContext;

beforeAll(async () => {
  database = await createEmptyDatabase();
  process.env['DATABASE_URL'] = database.url;
  await runMigrations(database.url);
  const { AppModule: Root } = await import('./app.module.js');
  app = await NestFactory.createApplicationContext(Root as typeof AppModule, { logger: false });
  await app
    .get(PrismaService)
    .$executeRawUnsafe(`CREATE TABLE purchases (id int PRIMARY KEY, status text DEFAULT 'UNPAID')`);
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

it('places and pays orders, each with its close in one transaction of Prisma', async () => {
  const orders = app.get(OrdersService);
  const find = (key: string) => app.get(DelayService).find('order.close', key);
  await orders.place(1);
  const placed = await find('1');
  expect(placed).toMatchObject({ payload: { orderId: 1 } });
  // It exists already: its close stays as it is.
  await expect(orders.place(1)).rejects.toThrow('Unique constraint');
  expect(await find('1')).toEqual(placed);
  expect([await orders.pay(1), await orders.pay(1)]).toEqual([true, false]);
  expect(await find('1')).toBeNull();
});

it('closes an order that nobody paid, and its delay with it', async () => {
  await app.get(OrdersService).place(2);
  const completed = new Promise((heard) => app.get(DelayEvents).once('completed', heard));
  await app.get(DelayService).reschedule('order.close', '2', { after: 0 });
  await completed;
  const order = await app.get(PrismaService).purchases.findUniqueOrThrow({ where: { id: 2 } });
  expect(order).toEqual({ id: 2, status: 'CLOSED' });
  expect(await app.get(DelayService).find('order.close', '2')).toBeNull();
});
