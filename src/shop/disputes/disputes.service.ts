import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { randomUUID } from 'node:crypto';
import { DataSource, In, IsNull, Not } from 'typeorm';
import { Order, type OrderStatus } from '../orders/order.entity.js';
import { type Deed, mustBeDone } from '../orders/order.moves.js';
import { Dispute } from './dispute.entity.js';
import { freeze, thaw } from './frozen-timers.js';

/** An unpaid order has nothing to dispute, and a closed one is over. */
const DISPUTABLE: OrderStatus[] = ['PAID', 'SHIPPED', 'COMPLETED'];

const OPEN: Deed = { name: 'disputed', isDone: ({ disputedAt }) => disputedAt !== null };

/** Both calls are compare-and-sets on the order's row; a repetition finds it done. */
@Injectable()
export class DisputesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** The order is frozen: none of its timers runs, and no call moves it. */
  open(id: string, reason: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.update(
        Order,
        { id, status: In(DISPUTABLE), disputedAt: IsNull() },
        { disputedAt: () => 'clock_timestamp()', autoConfirmAt: null },
      );
      if (affected !== 1) return mustBeDone(manager, id, OPEN);
      await manager.insert(Dispute, { id: randomUUID(), orderId: id, reason });
      await freeze(manager, this.delays, id);
    });
  }

  /** The dispute is settled, and everything continues where it stopped. */
  release(id: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.update(
        Order,
        { id, disputedAt: Not(IsNull()) },
        { disputedAt: null },
      );
      if (affected !== 1) {
        return mustBeDone(manager, id, {
          name: 'released',
          isDone: () => manager.existsBy(Dispute, { orderId: id }),
          whyNot: () => 'it is not under dispute',
        });
      }
      await manager.update(
        Dispute,
        { orderId: id, releasedAt: IsNull() },
        { releasedAt: () => 'clock_timestamp()' },
      );
      const order = await manager.findOneByOrFail(Order, { id });
      const { 'order.confirm': autoConfirmAt } = await thaw(manager, this.delays, order);
      if (autoConfirmAt) await manager.update(Order, { id }, { autoConfirmAt });
    });
  }
}
