import { Inject, Injectable } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type TransactionalDelayBatchContext,
} from 'nestjs-delay-queue';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { moveOrders } from './order.moves.js';

@Injectable()
export class ConfirmOrderHandler {
  constructor(
    private readonly delays: DelayService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  /** Buyers who say nothing have received the goods; now the time to rate them runs. */
  @OnDelay('order.confirm', { transactional: true, batch: 200 })
  async confirm(
    delays: Delay<'order.confirm'>[],
    { manager }: TransactionalDelayBatchContext,
  ): Promise<void> {
    const ids = delays.map(({ payload: { orderId } }) => orderId);
    const completed = await moveOrders(manager, ids, { from: 'SHIPPED', to: 'COMPLETED' });
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
