import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  DelayEvents,
  DelayQueueModule,
  OnDelay,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { databaseOptions } from '../../src/app.module.js';
import type { BenchWorker, Hears } from '../adapters/adapter.js';
import { closeOrders } from './close-orders.js';
import { orderNumberOf } from './orders.js';

type CloseDelay = Delay<'order.close'>;

@Module({})
class ShopWorkerModule {}

/**
 * A node of the sample shop that does nothing but close unpaid orders: the shop's tables, its pool and
 * its functions, a handler per order or one for many.
 */
export async function openShopWorker(
  url: string,
  batch: number,
  hears: Hears,
): Promise<BenchWorker> {
  const root: DynamicModule = {
    module: ShopWorkerModule,
    imports: [
      TypeOrmModule.forRoot({ ...databaseOptions(url), retryAttempts: 0 }),
      DelayQueueModule.forRoot(),
    ],
    providers: [batch === 1 ? singleHandler(hears) : batchHandler(batch, hears)],
  };
  const app = await Test.createTestingModule({ imports: [root] }).compile();
  app.useLogger(['error', 'warn']);
  app.get(DelayEvents).on('completed', () => hears.settled());
  return {
    start: async () => void (await app.init()),
    stop: () => app.close(),
  };
}

const tell = (hears: Hears, { payload: { orderId }, dueAt, latenessMs }: CloseDelay): void =>
  hears.handled(orderNumberOf(orderId), dueAt.getTime(), latenessMs);

function singleHandler(hears: Hears): Type {
  class CloseOrder {
    @OnDelay('order.close', { transactional: true })
    close(delay: CloseDelay, { manager }: TransactionalDelayContext): Promise<void> {
      tell(hears, delay);
      return closeOrders(manager, [delay.payload.orderId]);
    }
  }
  return CloseOrder;
}

function batchHandler(batch: number, hears: Hears): Type {
  class CloseOrders {
    @OnDelay('order.close', { transactional: true, batch })
    close(delays: CloseDelay[], { manager }: TransactionalDelayBatchContext): Promise<void> {
      for (const delay of delays) tell(hears, delay);
      return closeOrders(
        manager,
        delays.map(({ payload: { orderId } }) => orderId),
      );
    }
  }
  return CloseOrders;
}
