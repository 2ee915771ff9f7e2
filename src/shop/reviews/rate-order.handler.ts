import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayContext } from 'nestjs-delay-queue';
import { rate } from './reviews.service.js';

@Injectable()
export class RateOrderHandler {
  /** A buyer who has not rated was happy: five stars, unless a rating came just before. */
  @OnDelay('order.rate', { transactional: true })
  async rate(
    { payload: { orderId } }: Delay<'order.rate'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    await rate(manager, orderId, { stars: 5, source: 'automatic' });
  }
}
