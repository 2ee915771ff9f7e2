import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayBatchContext } from 'nestjs-delay-queue';
import { returnStock } from '../catalog/stock.js';
import { OrderMoves } from './order-moves.service.js';

@Injectable()
export class CloseOrderHandler {
  constructor(private readonly moves: OrderMoves) {}

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
    const move = { from: 'UNPAID', to: 'CLOSED', closeReason } as const;
    const closed = await this.moves.whenFiring('order.close', manager, ids, move);
    // Last, because an order of one of these SKUs waits from here to the commit.
    await returnStock(
      manager,
      closed.map(({ id }) => id),
    );
  }
}
