import 'reflect-metadata';
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type Delay,
  DelayEvents,
  DelayQueueModule,
  DelayService,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { fromPgPromise } from 'nestjs-delay-queue/adapters';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: string };
  }
}

@Injectable()
class OrderHandlers {
  readonly closed: unknown[] = [];

  @OnDelay('order.close', { transactional: true })
  async close(delay: Delay<'order.close'>, ctx: TransactionalDelayContext): Promise<void> {
    const { rows } = await ctx.client.query('SELECT $1::text AS id', [delay.payload.orderId]);
    this.closed.push(rows[0]?.['id']);
  }
}

@Module({
  imports: [DelayQueueModule.forRoot({ connection: process.env['DATABASE_URL'] })],
  providers: [OrderHandlers],
})
class AppModule {}

assert.equal(existsSync('node_modules/typeorm'), false);
assert.equal(typeof fromPgPromise, 'function');
const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
const completed = new Promise((heard) => app.get(DelayEvents).once('completed', heard));
await app.get(DelayService).schedule('order.close', { orderId: '1' }, { after: 100, key: '1' });
await completed;
assert.deepEqual(app.get(OrderHandlers).closed, ['1']);
await app.close();
