import 'reflect-metadata';
import { equal, rejects } from 'node:assert/strict';
import { it } from 'node:test';
import { NestFactory } from '@nestjs/core';
import { DelayEvents, DelayInvalidError, DelayService } from 'nestjs-delay-queue';
import { AppModule } from './app.module';
import { OrderTimers } from './order-timers';

it('closes an order that nobody pays', async () => {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const closed = new Promise((resolve) => app.get(DelayEvents).once('completed', resolve));
  const order = `from ${process.argv[1]}`;
  await app.get(OrderTimers).place(order);
  await closed;
  equal(await app.get(OrderTimers).statusOf(order), 'CLOSED');
  await rejects(
    app.get(DelayService).cancel('order.close', ''),
    (error) => error instanceof DelayInvalidError && error.name === 'DelayInvalidError',
  );
  await app.close();
});
