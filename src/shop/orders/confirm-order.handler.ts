import { Injectable } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type ScheduleItem,
  type TransactionalDelayBatchContext,
} from 'nestjs-delay-queue';
import { OrderMoves } from './order-moves.service.js';
import type { MovedOrder } from './order.moves.js';

@Injectable()
export class ConfirmOrderHandler {
  constructor(
    private readonly delays: DelayService,
    private readonly moves: OrderMoves,
  ) {}

  /** A buyer who reports nothing has received the goods; now the time to rate begins. */
  @OnDelay('order.confirm', { transactional: true, batch: 200 })
  async confirm(
    delays: Delay<'order.confirm'>[],
    { manager }: TransactionalDelayBatchContext,
  ): Promise<void> {
    const ids = delays.map(({ payload: { orderId } }) => orderId);
    const move = { from: 'SHIPPED', to: 'COMPLETED' } as const;
    const completed = await this.moves.whenFiring('order.confirm', manager, ids, move);
    await this.delays.scheduleMany(completed.map(rating), { manager });
  }
}

const rating = ({ id, merchantId, rateAfterMs }: MovedOrder): ScheduleItem<'order.rate'> => ({
  name: 'order.rate',
  payload: { orderId: id },
  key: id,
  group: merchantId,
  after: rateAfterMs,
});
