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
import { lockOrder } from './order-lock';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: ID };
  }
}

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
  async close({ payload }: Delay<'order.close'>, { manager }: TransactionalDelayContext) {
    const { orderId } = payload;
    const ctx = await this.requestContexts.create({ apiType: 'admin' });
    // Its transactions are savepoints in the attempt's.
    const connection: TransactionalConnection = Object.create(this.connection, {
      rawConnection: { value: { createQueryRunner: () => manager.queryRunner } },
    });
    await connection.withTransaction(ctx, async (joined) => {
      const state = await lockOrder(connection, joined, orderId);
      if (state !== 'ArrangingPayment') return;
      const result = await this.orders.transitionToState(joined, orderId, 'Cancelled');
      if (isGraphQlErrorResult(result)) throw new Error(result.transitionError);
    });
  }

  /** In the transaction that moves the order, on every path. */
  private async follow({ ctx, order, fromState, toState }: OrderStateTransitionEvent) {
    const { manager } = this.connection.getRepository(ctx, Order);
    const key = String(order.id);
    if (toState === 'ArrangingPayment') {
      const when = { after: process.env.CLOSE_AFTER ?? '30m', key, manager };
      await this.delays.schedule('order.close', { orderId: order.id }, when);
    }
    if (fromState !== 'ArrangingPayment') return;
    await this.delays.cancel('order.close', key, { manager });
    if (['PaymentAuthorized', 'PaymentSettled'].includes(toState)) return;
    const lines = order.lines.map(({ id, quantity }) => ({ orderLineId: id, quantity }));
    await this.stock.createReleasesForOrderLines(ctx, lines);
  }
}
