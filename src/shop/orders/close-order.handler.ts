import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayBatchContext } from 'nestjs-delay-queue';
import { returnStock } from '../catalog/stock.js';
import { OrderMoves } from './order-moves.service.js';

@Injectable()
export class CloseOrderHandler {
  constructor(private readonly moves: OrderMoves) {}

  /**
   * Closes orders that are still unpaid at their deadline, and puts their stock back on sale. In
   * batches, because they come in bursts: after a sale, or after the shop was down.
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
    // Last, because orders of these SKUs wait from here until the commit.
    await returnStock(
      manager,
      closed.map(({ id }) => id),
    );
  }
}
