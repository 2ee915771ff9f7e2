import { Inject, Injectable } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type TransactionalDelayBatchContext,
} from 'nestjs-delay-queue';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { OrderMoves } from './order-moves.service.js';

@Injectable()
export class ConfirmOrderHandler {
  constructor(
    private readonly delays: DelayService,
    private readonly moves: OrderMoves,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
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
    const after = this.config.rateAfterMs;
    await this.delays.scheduleMany(
      completed.map((orderId) => ({
        name: 'order.rate',
        payload: { orderId },
        key: orderId,
        after,
      })),
      { manager },
    );
  }
}
