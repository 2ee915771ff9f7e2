import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource, Raw, type EntityManager } from 'typeorm';
import { OrderMoves } from '../orders/order-moves.service.js';
import { mustBeDone, stateOf, type Deed } from '../orders/order.moves.js';
import { reportedBefore, whyNotKept, writeDown } from './payment-record.js';
import { Payment } from './payment.entity.js';
import type { PaymentReceipt, PaymentReport } from './payments.schemas.js';
import { RefundsService } from './refunds.service.js';
import { SampleProvider } from './sample-provider.js';

@Injectable()
export class PaymentsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly moves: OrderMoves,
    private readonly provider: SampleProvider,
    private readonly refunds: RefundsService,
  ) {}

  /**
   * A new attempt to pay: refused once the deadline has passed on the database's clock, even while
   * the order still waits to be closed. What the sample's provider has captured already is paid: it
   * is not captured twice, and who asks again learns of it.
   *
   * @param answersAt when the provider answers, if it is to take its time
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

  /**
   * Money that a provider has taken already; it cannot be refused any more, only kept or given
   * back. It is kept when it is the first full payment of an order that is still unpaid, also after
   * the deadline. A transaction that was reported before changes nothing; when it was for another
   * order or amount, that is written down beside it.
   */
  record(report: PaymentReport): Promise<PaymentReceipt> {
    return this.dataSource.transaction(async (manager) => {
      const paymentId = randomUUID();
      if (!(await writeDown(manager, paymentId, report))) return reportedBefore(manager, report);

      const { orderId, amount: total } = report;
      if (await this.moves.one(manager, orderId, { from: 'UNPAID', to: 'PAID' }, { total })) {
        return { paymentId, status: 'CAPTURED', repeated: false };
      }
      const reason = await whyNotKept(manager, report);
      await this.refunds.begin(manager, paymentId, reason);
      return { paymentId, status: 'REFUND_PENDING', repeated: false, reason };
    });
  }
}
