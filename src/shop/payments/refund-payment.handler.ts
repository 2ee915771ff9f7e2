import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type TransactionalDelayContext } from 'nestjs-delay-queue';
import { Payment } from './payment.entity.js';
import { SampleProvider } from './sample-provider.js';

@Injectable()
export class RefundPaymentHandler {
  constructor(private readonly provider: SampleProvider) {}

  /** Money that was not due goes back the way it came. */
  @OnDelay('payment.refund', { transactional: true })
  async refund(
    { payload: { paymentId: id } }: Delay<'payment.refund'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    const { affected } = await manager.update(
      Payment,
      { id, status: 'REFUND_PENDING' },
      { status: 'REFUNDED', refundedAt: () => 'clock_timestamp()' },
    );
    if (affected === 1) await this.provider.refund(await manager.findOneByOrFail(Payment, { id }));
  }
}
