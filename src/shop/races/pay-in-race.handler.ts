import { ConflictException, Injectable } from '@nestjs/common';
import { OnDelay, type Delay } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { Order } from '../orders/order.entity.js';
import { PaymentsService } from '../payments/payments.service.js';
import { SamplePaymentsService } from '../payments/sample-payments.service.js';
import { untilServerNow } from '../shop.clock.js';
import { LAST_MOMENT_MS, SLOW_ANSWER_MS } from './races.js';

/** The buyer of an order that races against its close. */
@Injectable()
export class PayInRaceHandler {
  constructor(
    private readonly dataSource: DataSource,
    private readonly payments: PaymentsService,
    private readonly sample: SamplePaymentsService,
  ) {}

  @OnDelay('race.pay', { concurrency: 5 })
  async pay({ payload: { orderId, race } }: Delay<'race.pay'>): Promise<void> {
    const { manager } = this.dataSource;
    const { total: amount, payDeadline } = await manager.findOneByOrFail(Order, { id: orderId });
    const afterDeadline = (ms: number): Date => new Date(payDeadline.getTime() + ms);
    if (race === 'close-while-paid') return this.payAndWait(orderId, afterDeadline(SLOW_ANSWER_MS));
    if (race === 'pay-at-the-last-moment') {
      await untilServerNow(manager, afterDeadline(LAST_MOMENT_MS));
    }
    // One transaction id, however often this is tried.
    const transaction = `race-${orderId}`;
    await this.payments.record({ orderId, provider: 'sample', transaction, amount });
  }

  /** Holds the order while the slow provider works, and the close comes due meanwhile. */
  private async payAndWait(orderId: string, answersAt: Date): Promise<void> {
    try {
      await this.sample.pay(orderId, answersAt);
    } catch (error) {
      // The process that began to pay died, and the close was first.
      if (!(error instanceof ConflictException)) throw error;
    }
  }
}
