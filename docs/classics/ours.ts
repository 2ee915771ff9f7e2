import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  DelayQueueModule,
  DelayService,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { numberOf, type OpenDesign } from './design.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: string };
  }
}

/**
 * A row in the transaction that places the order. The handler's transaction removes that row, and a
 * payment's `cancel` answers `running` when it comes too late.
 */
export const openOurs: OpenDesign = async (shop) => {
  class OrderTimers {
    @OnDelay('order.close', { transactional: true })
    async close(
      { payload }: Delay<'order.close'>,
      { manager }: TransactionalDelayContext,
    ): Promise<void> {
      await shop.close(payload.orderId, manager);
    }
  }

  @Module({
    imports: [
      TypeOrmModule.forRootAsync({
        useFactory: () => ({ type: 'postgres' }),
        dataSourceFactory: async () => shop.dataSource,
      }),
      DelayQueueModule.forRoot({
        nodeName: shop.name,
        // Short, as the ticks of the others are: a crash and a pause are over soon.
        lease: '2s',
        timeout: '2s',
        horizon: '2s',
        loadEvery: '500ms',
        backoff: { base: 100 },
      }),
    ],
    providers: [OrderTimers],
  })
  class TimersModule {}

  const app = await NestFactory.createApplicationContext(TimersModule, { logger: false });
  const delays = app.get(DelayService);
  return {
    async schedule(orderId, afterMs, manager) {
      await delays.schedule('order.close', { orderId }, { after: afterMs, key: orderId, manager });
    },
    async cancel(orderId, manager) {
      return (await delays.cancel('order.close', orderId, { manager })).verdict !== 'running';
    },
    left: () => numberOf(shop.dataSource, 'SELECT count(*)::int AS n FROM delay_queue.delay'),
  };
};
