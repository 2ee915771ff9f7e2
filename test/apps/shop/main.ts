import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DelayEvents } from 'nestjs-delay-queue';
import { AppModule } from './app.module';
import { OrderTimers } from './order-timers';

async function closeAnOrder(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const closed = new Promise((resolve, reject) => {
    app.get(DelayEvents).once('completed', resolve);
    app.get(DelayEvents).once('retrying', ({ error }) => reject(new Error(error)));
  });
  const timers = app.get(OrderTimers);
  // Programs of one folder may share a database.
  const order = `from ${process.argv[1]}`;
  await timers.place(order);
  await closed;
  const status = await timers.statusOf(order);
  await app.close();
  if (status !== 'CLOSED') throw new Error(`the order is ${status}`);
}

closeAnOrder().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
