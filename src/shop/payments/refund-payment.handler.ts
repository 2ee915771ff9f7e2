import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type DelayContext } from 'nestjs-delay-queue';
import { PaymentProvider } from './payment-provider.js';
import { RefundsService } from './refunds.service.js';

@Injectable()
export class RefundPaymentHandler {
  constructor(
    private readonly provider: PaymentProvider,
    private readonly refunds: RefundsService,
  ) {}

  /**
   * Refunds a payment that was not due. Not transactional: no connection waits for a provider that
   * hangs. A refund that was made but not recorded is requested again under the same id. Twenty
   * attempts take about an hour; then a person has to look.
   */
  @OnDelay('payment.refund', { maxAttempts: 20 })
  async refund(
    { payload: { paymentId } }: Delay<'payment.refund'>,
    { signal }: DelayContext,
  ): Promise<void> {
    const payment = await this.refunds.pending(paymentId);
    if (!payment) return;
    await this.provider.refund(payment, signal);
    await this.refunds.done(paymentId);
  }
}
