import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayContext } from 'nestjs-delay-queue';
import { returnStock } from '../catalog/stock.js';
import { moveOrder } from './order.moves.js';

@Injectable()
export class CloseOrderHandler {
  /** An order that is still unpaid at its deadline is closed, and its stock goes back on sale. */
  @OnDelay('order.close', { transactional: true })
  async close(
    { payload: { orderId } }: Delay<'order.close'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    const closeReason = 'not paid in time';
    const closed = await moveOrder(manager, orderId, { from: 'UNPAID', to: 'CLOSED', closeReason });
    if (closed) await returnStock(manager, orderId);
  }
}
