import { Inject, Injectable } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { moveOrder } from './order.moves.js';

@Injectable()
export class ConfirmOrderHandler {
  constructor(
    private readonly delays: DelayService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  /** A buyer who says nothing has received the goods; now the time to rate them runs. */
  @OnDelay('order.confirm', { transactional: true })
  async confirm(
    { payload: { orderId } }: Delay<'order.confirm'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    const completed = await moveOrder(manager, orderId, { from: 'SHIPPED', to: 'COMPLETED' });
    if (!completed) return;
    const after = this.config.rateAfterMs;
    await this.delays.schedule('order.rate', { orderId }, { after, key: orderId, manager });
  }
}
