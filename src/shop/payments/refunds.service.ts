import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { PaymentConflict } from './payment-conflict.entity.js';
import { paymentView } from './payment-view.js';
import { Payment } from './payment.entity.js';
import { paymentId, type PaymentDetails } from './payments.schemas.js';

/** Conflicts that are shown: they may be reported again and again. */
const CONFLICTS_MAX = 100;

/** Payments on their way back to the payer. */
@Injectable()
export class RefundsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** The payment is not kept: its refund begins, in the caller's transaction. */
  async begin(manager: EntityManager, id: string, refundReason: string): Promise<void> {
    await manager.update(Payment, { id }, { status: 'REFUND_PENDING', refundReason });
    await this.delays.schedule('payment.refund', { paymentId: id }, { after: 0, key: id, manager });
  }

  /** A payment that is still to be refunded; `null` once that is done. */
  pending(id: string): Promise<Payment | null> {
    return this.dataSource.manager.findOneBy(Payment, { id, status: 'REFUND_PENDING' });
  }

  /** The provider has refunded it. A second call changes nothing. */
  async done(id: string): Promise<void> {
    await this.dataSource.manager.update(
      Payment,
      { id, status: 'REFUND_PENDING' },
      { status: 'REFUNDED', refundedAt: () => 'clock_timestamp()' },
    );
  }

  /**
   * Retries a refund now that waits for its next attempt, or that was given up. One that is done
   * stays done.
   *
   * @throws 404 for an unknown payment; 409 for one that is kept
   */
  async retry(given: string): Promise<PaymentDetails> {
    const { id, status } = await this.find(given);
    if (status === 'CAPTURED') {
      throw new ConflictException('the payment cannot be refunded: it is kept for its order');
    }
    if (status === 'REFUND_PENDING') {
      await this.delays.schedule('payment.refund', { paymentId: id }, { after: 0, key: id });
    }
    return this.show(id);
  }

  async show(given: string): Promise<PaymentDetails> {
    const { manager } = this.dataSource;
    const payment = await this.find(given);
    const newest = await manager.find(PaymentConflict, {
      where: { paymentId: payment.id },
      order: { reportedAt: 'DESC', id: 'DESC' },
      take: CONFLICTS_MAX,
    });
    const refund =
      payment.status === 'REFUND_PENDING'
        ? await this.delays.find('payment.refund', payment.id)
        : null;
    return {
      ...paymentView(payment, refund ?? undefined),
      orderId: payment.orderId,
      conflicts: newest.toReversed().map(({ orderId, amount, reportedAt }) => ({
        orderId,
        amount,
        reportedAt: reportedAt.toISOString(),
      })),
      refund: refund && {
        state: refund.state,
        attempts: refund.attempts,
        nextAt: refund.wakeAt?.toISOString() ?? null,
      },
    };
  }

  private async find(given: string): Promise<Payment> {
    const id = paymentId.safeParse(given);
    const payment =
      id.success && (await this.dataSource.manager.findOneBy(Payment, { id: id.data }));
    if (!payment) throw new NotFoundException(`there is no payment ${given}`);
    return payment;
  }
}
