import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource, Raw, type EntityManager } from 'typeorm';
import { OrderMoves } from '../orders/order-moves.service.js';
import { mustBeDone, stateOf, type Deed } from '../orders/order.moves.js';
import { Payment } from './payment.entity.js';
import { SampleProvider } from './sample-provider.js';

/** Buyers of the demo pay with a provider that moves no money. */
@Injectable()
export class SamplePaymentsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly moves: OrderMoves,
    private readonly provider: SampleProvider,
  ) {}

  /**
   * A new attempt to pay. Refused once the deadline has passed on the database's clock, even if the
   * order is not closed yet. An order that the sample provider has captured already is paid: it is
   * not captured twice, and a repeated request reports that.
   *
   * @param answersAt when the provider answers, if it is to be slow
   */
  pay(orderId: string, answersAt?: Date): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const inTime = { payDeadline: Raw((deadline) => `${deadline} > clock_timestamp()`) };
      const paid = await this.moves.one(manager, orderId, { from: 'UNPAID', to: 'PAID' }, inTime);
      if (!paid) return mustBeDone(manager, orderId, this.paying(manager));
      const capture = await this.provider.capture(answersAt);
      await manager.insert(Payment, {
        ...capture,
        id: randomUUID(),
        orderId,
        amount: paid.total,
        status: 'CAPTURED',
      });
    });
  }

  private paying(manager: EntityManager): Deed {
    const mine = { provider: this.provider.name, status: 'CAPTURED' } as const;
    return {
      name: 'paid',
      isDone: ({ id: orderId }) => manager.existsBy(Payment, { ...mine, orderId }),
      whyNot: (order) => (order.status === 'UNPAID' ? 'the time to pay is over' : stateOf(order)),
    };
  }
}
