import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { OrderMoves } from '../orders/order-moves.service.js';
import { reportedBefore, whyNotKept, writeDown } from './payment-record.js';
import type { PaymentReceipt, PaymentReport } from './payments.schemas.js';
import { RefundsService } from './refunds.service.js';

@Injectable()
export class PaymentsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly moves: OrderMoves,
    private readonly refunds: RefundsService,
  ) {}

  /**
   * Records a payment that a provider has captured already: it cannot be refused, only kept or
   * refunded. It is kept if it is the first full payment of an order that is still unpaid, also
   * after the deadline. A transaction that was reported before changes nothing; if that was for
   * another order or amount, a conflict is recorded.
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
