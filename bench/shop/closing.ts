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
import type { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { databaseOptions } from '../../src/app.module.js';
import { returnStock } from '../../src/shop/catalog/stock.js';
import { INVARIANTS } from '../../src/shop/invariants/invariants.sql.js';
import { moveOrders } from '../../src/shop/orders/order.moves.js';
import { writeNews } from '../../src/shop/outbox/outbox.js';
import type { BenchWorker, Hears } from '../adapters/adapter.js';
import { tellClaims } from '../adapters/ours.js';
import { orderNumberOf } from './orders.js';

/** What the shop's own handler does, but for the messages: here nothing sends them. */
export async function closeOrders(manager: EntityManager, ids: readonly string[]): Promise<void> {
  const closeReason = 'not paid in time';
  const moved = await moveOrders(manager, ids, { from: 'UNPAID', to: 'CLOSED', closeReason });
  const closed = moved.map(({ id }) => id);
  await writeNews(manager, 'order.closed', closed);
  await returnStock(manager, closed);
}

/** With the shop's entities and its pool. */
export const openShopDatabase = (url: string): Promise<DataSource> =>
  new DataSource(databaseOptions(url)).initialize();

type CloseDelay = Delay<'order.close'>;

@Module({})
class ShopWorkerModule {}

/**
 * A node of the sample shop that does nothing but close unpaid orders: the shop's tables, its pool and
 * its functions, a handler per order or one for many.
 */
export async function openShopWorker(
  url: string,
  batch: number | undefined,
  hears: Hears,
): Promise<BenchWorker> {
  tellClaims(hears);
  const root: DynamicModule = {
    module: ShopWorkerModule,
    imports: [
      TypeOrmModule.forRoot({ ...databaseOptions(url), retryAttempts: 0 }),
      DelayQueueModule.forRoot(),
    ],
    providers: [batch === undefined ? singleHandler(hears) : batchHandler(batch, hears)],
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

/** All of the shop's but one: messages are written, and nothing sends them here. */
const { 'every message is sent or dropped, or waits to be sent': _, ...INVARIANTS_OF_CLOSING } =
  INVARIANTS;

/** What must hold of a burst beside the shop's invariants; each answers how many break it. */
const MUST_HOLD: Record<string, string> = {
  'every order is closed': `SELECT count(*)::int AS broken FROM orders WHERE status <> 'CLOSED'`,
  'every order is closed once': `
    SELECT count(*)::int AS broken
    FROM (SELECT orders.id FROM orders LEFT JOIN outbox
            ON outbox.order_id = orders.id AND outbox.kind = 'order.closed'
          GROUP BY orders.id HAVING count(outbox.id) <> 1) AS miscounted`,
  'no order is closed before its deadline': `
    SELECT count(*)::int AS broken FROM orders WHERE closed_at < pay_deadline`,
  'all stock is back': `SELECT count(*)::int AS broken FROM sku WHERE stock <> initial_stock`,
};

/** Where a queue ran them. */
const MUST_HOLD_OF_DELAYS: Record<string, string> = {
  'no delay is left': `SELECT count(*)::int AS broken FROM delay_queue.delay`,
  'each delay ended as completed, once': `
    SELECT abs(count(*) FILTER (WHERE state = 'completed') - (SELECT count(*) FROM orders))::int
           + count(*) FILTER (WHERE state <> 'completed')::int AS broken
    FROM delay_queue.history`,
};

/** @returns a line for each rule that does not hold; none: all is well */
export async function brokenRules(client: Client, hasQueue: boolean): Promise<string[]> {
  const broken: string[] = [];
  const ofDelays = hasQueue ? MUST_HOLD_OF_DELAYS : {};
  const rules = { ...INVARIANTS_OF_CLOSING, ...MUST_HOLD, ...ofDelays };
  for (const [rule, sql] of Object.entries(rules)) {
    const { rows } = await client.query<{ broken: number }>(sql);
    const count = rows[0]?.broken ?? Number.NaN;
    if (count !== 0) broken.push(`${rule}: ${count} broken`);
  }
  return broken;
}
