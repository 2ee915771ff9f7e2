import { ConflictException, Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource, IsNull } from 'typeorm';
import { returnStock } from '../catalog/stock.js';
import { Order } from './order.entity.js';
import { OrderMoves } from './order-moves.service.js';
import { refusal } from './order.moves.js';

/**
 * What buyer and seller do to an order by hand. Everywhere the order's row is locked first, by the
 * compare-and-set, then its delays, then its stock.
 */
@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
    private readonly moves: OrderMoves,
  ) {}

  cancel(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const closeReason = 'cancelled by buyer';
      const move = { from: 'UNPAID', to: 'CLOSED', closeReason } as const;
      if (!(await this.moves.one(manager, id, move))) {
        throw await refusal(manager, id, 'cancelled');
      }
      await returnStock(manager, [id]);
    });
  }

  ship(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await this.moves.one(manager, id, { from: 'PAID', to: 'SHIPPED' }))) {
        throw await refusal(manager, id, 'shipped');
      }
      const { confirmAfterMs: after } = await manager.findOneByOrFail(Order, { id });
      const { dueAt } = await this.delays.schedule(
        'order.confirm',
        { orderId: id },
        { after, key: id, manager },
      );
      await manager.update(Order, { id }, { autoConfirmAt: dueAt });
    });
  }

  confirm(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await this.moves.one(manager, id, { from: 'SHIPPED', to: 'COMPLETED' }))) {
        throw await refusal(manager, id, 'confirmed');
      }
      const { rateAfterMs: after } = await manager.findOneByOrFail(Order, { id });
      await this.delays.schedule('order.rate', { orderId: id }, { after, key: id, manager });
    });
  }

  /** Once per order, by as long again, and not any more when the automatic confirmation has begun. */
  extend(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.update(
        Order,
        { id, status: 'SHIPPED', extended: false, disputedAt: IsNull() },
        { extended: true, extendedAt: () => 'clock_timestamp()' },
      );
      if (affected !== 1) {
        throw await refusal(manager, id, 'extended', ({ status, extended }) =>
          extended ? 'it has been extended before' : `it is ${status}`,
        );
      }
      const order = await manager.findOneByOrFail(Order, { id });
      const autoConfirmAt = new Date(order.autoConfirmAt!.getTime() + order.confirmAfterMs);
      // Not `reschedule`: a confirmation that had become a dead letter has its time again, too.
      const { verdict } = await this.delays.schedule(
        'order.confirm',
        { orderId: id },
        { at: autoConfirmAt, key: id, manager },
      );
      if (verdict === 'running') {
        throw new ConflictException('the order cannot be extended: it is just being confirmed');
      }
      await manager.update(Order, { id }, { autoConfirmAt });
    });
  }
}
