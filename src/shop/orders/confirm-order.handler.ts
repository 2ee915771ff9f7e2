import { Injectable } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type ScheduleItem,
  type TransactionalDelayBatchContext,
} from 'nestjs-delay-queue';
import { Any } from 'typeorm';
import { Order } from './order.entity.js';
import { OrderMoves } from './order-moves.service.js';

@Injectable()
export class ConfirmOrderHandler {
  constructor(
    private readonly delays: DelayService,
    private readonly moves: OrderMoves,
  ) {}

  /** Buyers who say nothing have received the goods; now the time to rate them runs. */
  @OnDelay('order.confirm', { transactional: true, batch: 200 })
  async confirm(
    delays: Delay<'order.confirm'>[],
    { manager }: TransactionalDelayBatchContext,
  ): Promise<void> {
    const ids = delays.map(({ payload: { orderId } }) => orderId);
    const move = { from: 'SHIPPED', to: 'COMPLETED' } as const;
    const completed = await this.moves.whenFiring('order.confirm', manager, ids, move);
    const orders = await manager.findBy(Order, { id: Any(completed) });
    await this.delays.scheduleMany(orders.map(rating), { manager });
  }
}

const rating = ({ id, rateAfterMs }: Order): ScheduleItem<'order.rate'> => ({
  name: 'order.rate',
  payload: { orderId: id },
  key: id,
  after: rateAfterMs,
});
