import { ConflictException, Inject, Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { returnStock } from '../catalog/stock.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { Order } from './order.entity.js';
import { moveOrder, refusal } from './order.moves.js';

/**
 * What buyer and seller do to an order by hand. Everywhere the order's row is locked first, by the
 * compare-and-set, then its stock and its delays.
 *
 * `cancel` may answer that the delay is running already. That is fine: its handler makes the same
 * compare-and-set on the row that is locked here, and finds that it came second.
 */
@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  cancel(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const closeReason = 'cancelled by buyer';
      if (!(await moveOrder(manager, id, { from: 'UNPAID', to: 'CLOSED', closeReason }))) {
        throw await refusal(manager, id, 'cancelled');
      }
      await returnStock(manager, [id]);
      await this.delays.cancel('order.close', id, { manager });
    });
  }

  ship(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await moveOrder(manager, id, { from: 'PAID', to: 'SHIPPED' }))) {
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
      if (!(await moveOrder(manager, id, { from: 'SHIPPED', to: 'COMPLETED' }))) {
        throw await refusal(manager, id, 'confirmed');
      }
      await this.delays.cancel('order.confirm', id, { manager });
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
