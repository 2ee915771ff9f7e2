import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { pageOf, unknownAfter } from '../http/page.js';
import { paymentLine } from './payment-view.js';
import { Payment } from './payment.entity.js';
import type { PaymentPage, PaymentsQuery } from './payments.schemas.js';

@Injectable()
export class PaymentListService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Newest first, including payments for orders that the shop does not know.
   *
   * @throws 400 when `after` is not the id of a payment
   */
  async list({ orderId, status, ...page }: PaymentsQuery): Promise<PaymentPage> {
    const { manager } = this.dataSource;
    if (page.after && !(await manager.existsBy(Payment, { id: page.after }))) throw unknownAfter();
    const payments = manager
      .createQueryBuilder(Payment, 'payment')
      .where({ ...(orderId && { orderId }), ...(status && { status }) })
      .orderBy('payment.capturedAt', 'DESC')
      .addOrderBy('payment.id', 'DESC');
    const isAfter =
      '(payment.captured_at, payment.id) < (SELECT captured_at, id FROM payment WHERE id = :after)';
    const { rows, next } = await pageOf(payments, isAfter, page);
    return { payments: rows.map(paymentLine), next };
  }
}
