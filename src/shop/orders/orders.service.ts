import { ConflictException, Inject, Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { returnStock } from '../catalog/stock.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
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
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
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
      const { dueAt } = await this.delays.schedule(
        'order.confirm',
        { orderId: id },
        { after: this.config.confirmAfterMs, key: id, manager },
      );
      await manager.update(Order, { id }, { autoConfirmAt: dueAt });
    });
  }

  confirm(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await this.moves.one(manager, id, { from: 'SHIPPED', to: 'COMPLETED' }))) {
        throw await refusal(manager, id, 'confirmed');
      }
      await this.delays.schedule(
        'order.rate',
        { orderId: id },
        { after: this.config.rateAfterMs, key: id, manager },
      );
    });
  }

  /** Once per order, and not any more when the automatic confirmation has begun. */
  extend(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.update(
        Order,
        { id, status: 'SHIPPED', extended: false },
        { extended: true, extendedAt: () => 'clock_timestamp()' },
      );
      if (affected !== 1) {
        throw await refusal(manager, id, 'extended', ({ status, extended }) =>
          extended ? 'it has been extended before' : `it is ${status}`,
        );
      }
      const extendBy = this.config.confirmAfterMs;
      const moved = await this.delays.reschedule('order.confirm', id, { extendBy }, { manager });
      if (moved.verdict !== 'rescheduled') {
        throw new ConflictException('the order cannot be extended: it is just being confirmed');
      }
      await manager.update(Order, { id }, { autoConfirmAt: moved.dueAt });
    });
  }
}
