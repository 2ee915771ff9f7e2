import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  EventBus,
  type ID,
  isGraphQlErrorResult,
  Order,
  OrderService,
  OrderStateTransitionEvent,
  RequestContextService,
  StockMovementService,
  TransactionalConnection,
} from '@vendure/core';
import {
  type Delay,
  DelayService,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { lockOrder } from './order-lock';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: ID };
  }
}

const PAID = ['PaymentAuthorized', 'PaymentSettled'];

@Injectable()
export class OrderClosing implements OnApplicationBootstrap {
  constructor(
    private readonly connection: TransactionalConnection,
    private readonly delays: DelayService,
    private readonly eventBus: EventBus,
    private readonly orders: OrderService,
    private readonly requestContexts: RequestContextService,
    private readonly stock: StockMovementService,
  ) {}

  onApplicationBootstrap(): void {
    const handler = (event: OrderStateTransitionEvent) => this.follow(event);
    const event = OrderStateTransitionEvent;
    this.eventBus.registerBlockingEventHandler({ event, id: 'order-closing', handler });
  }

  @OnDelay('order.close', { transactional: true })
  async close(
    { payload: { orderId } }: Delay<'order.close'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    const ctx = await this.requestContexts.create({ apiType: 'admin' });
    await within(manager, this.connection).withTransaction(ctx, async (joined) => {
      const state = await lockOrder(this.connection, joined, orderId);
      if (state !== 'ArrangingPayment') return;
      const result = await this.orders.transitionToState(joined, orderId, 'Cancelled');
      if (isGraphQlErrorResult(result)) throw new Error(result.transitionError);
    });
  }

  /** In the transaction that moves the order, whoever moves it. */
  private async follow(event: OrderStateTransitionEvent): Promise<void> {
    const { ctx, order, fromState, toState } = event;
    const { manager } = this.connection.getRepository(ctx, Order);
    const key = String(order.id);
    if (toState === 'ArrangingPayment') {
      const when = { after: process.env.CLOSE_AFTER ?? '30m', key, manager };
      await this.delays.schedule('order.close', { orderId: order.id }, when);
    }
    if (fromState !== 'ArrangingPayment') return;
    await this.delays.cancel('order.close', key, { manager });
    if (PAID.includes(toState)) return;
    const lines = order.lines.map(({ id, quantity }) => ({ orderLineId: id, quantity }));
    await this.stock.createReleasesForOrderLines(ctx, lines);
  }
}

/** Vendure's connection, whose transactions are savepoints in that of the attempt. */
function within(
  { queryRunner }: EntityManager,
  connection: TransactionalConnection,
): TransactionalConnection {
  const rawConnection = { createQueryRunner: () => queryRunner };
  return Object.create(connection, { rawConnection: { value: rawConnection } });
}
