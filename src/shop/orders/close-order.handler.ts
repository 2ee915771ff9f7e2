import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayBatchContext } from 'nestjs-delay-queue';
import { returnStock } from '../catalog/stock.js';
import { moveOrders } from './order.moves.js';

@Injectable()
export class CloseOrderHandler {
  /**
   * Orders that are still unpaid at their deadline are closed, and their stock goes back on sale. In
   * batches, because they come in crowds: after a sale, or when the shop has been down.
   */
  @OnDelay('order.close', { transactional: true, batch: 200 })
  async close(
    delays: Delay<'order.close'>[],
    { manager }: TransactionalDelayBatchContext,
  ): Promise<void> {
    const ids = delays.map(({ payload: { orderId } }) => orderId);
    const closeReason = 'not paid in time';
    const closed = await moveOrders(manager, ids, { from: 'UNPAID', to: 'CLOSED', closeReason });
    // Last, because whoever orders one of these SKUs waits from here to the commit.
    await returnStock(manager, closed);
  }
}
