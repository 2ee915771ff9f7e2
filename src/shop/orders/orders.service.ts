import { ConflictException, Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource, IsNull } from 'typeorm';
import { returnStock } from '../catalog/stock.js';
import { Order } from './order.entity.js';
import { OrderMoves } from './order-moves.service.js';
import { type Deed, mustBeDone } from './order.moves.js';

const CANCELLED = 'cancelled by buyer';

const CANCEL: Deed = {
  name: 'cancelled',
  isDone: ({ closeReason }) => closeReason === CANCELLED,
};
const SHIP: Deed = { name: 'shipped', isDone: ({ shippedAt }) => shippedAt !== null };
const CONFIRM: Deed = { name: 'confirmed', isDone: ({ status }) => status === 'COMPLETED' };
/** Only once: a second extension is a repeated request for the first. */
const EXTEND: Deed = { name: 'extended', isDone: ({ extended }) => extended };

/**
 * What buyers and sellers do to an order by hand. The order's row is always locked first, by the
 * compare-and-set, then its delays, then its stock. What was done before is not done again and is
 * no error: a caller without an answer asks again.
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
      const move = { from: 'UNPAID', to: 'CLOSED', closeReason: CANCELLED } as const;
      if (!(await this.moves.one(manager, id, move))) return mustBeDone(manager, id, CANCEL);
      await returnStock(manager, [id]);
    });
  }

  ship(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const shipped = await this.moves.one(manager, id, { from: 'PAID', to: 'SHIPPED' });
      if (!shipped) return mustBeDone(manager, id, SHIP);
      const { dueAt } = await this.delays.schedule(
        'order.confirm',
        { orderId: id },
        { after: shipped.confirmAfterMs, key: id, group: shipped.merchantId, manager },
      );
      await manager.update(Order, { id }, { autoConfirmAt: dueAt });
    });
  }

  confirm(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const completed = await this.moves.one(manager, id, { from: 'SHIPPED', to: 'COMPLETED' });
      if (!completed) return mustBeDone(manager, id, CONFIRM);
      const { rateAfterMs: after, merchantId: group } = completed;
      const when = { after, key: id, group, manager };
      await this.delays.schedule('order.rate', { orderId: id }, when);
    });
  }

  /** Once per order, by the same time again, until the automatic confirmation begins. */
  extend(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.update(
        Order,
        { id, status: 'SHIPPED', extended: false, disputedAt: IsNull() },
        { extended: true, extendedAt: () => 'clock_timestamp()' },
      );
      if (affected !== 1) return mustBeDone(manager, id, EXTEND);
      const order = await manager.findOneByOrFail(Order, { id });
      const autoConfirmAt = new Date(order.autoConfirmAt!.getTime() + order.confirmAfterMs);
      // Not `reschedule`: this also revives a confirmation that had become a dead letter.
      const { verdict } = await this.delays.schedule(
        'order.confirm',
        { orderId: id },
        { at: autoConfirmAt, key: id, group: order.merchantId, manager },
      );
      if (verdict === 'running') {
        throw new ConflictException('the order cannot be extended: it is just being confirmed');
      }
      await manager.update(Order, { id }, { autoConfirmAt });
    });
  }
}
