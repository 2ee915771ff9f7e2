import { DiscardDelay } from 'nestjs-delay-queue';
import type { Webhook } from '../webhook.js';
import type { Payment } from './payment.entity.js';

/** Whatever gives money back. Which one the shop has, its configuration says. */
export abstract class PaymentProvider {
  /**
   * @param payment its `id` is the idempotency key of the refund: an attempt that fails after the
   * provider has paid back is repeated, and must not pay twice
   * @throws DiscardDelay when asking again has no sense, anything else when it has
   */
  abstract refund(payment: Payment, signal: AbortSignal): Promise<void>;
}

/** Posts each refund as JSON to one URL, the payment's id in `Idempotency-Key`. */
export class WebhookRefunds extends PaymentProvider {
  constructor(private readonly webhook: Webhook) {
    super();
  }

  override async refund(payment: Payment, signal: AbortSignal): Promise<void> {
    const { id, orderId, provider, transaction, amount } = payment;
    const refund = { paymentId: id, orderId, provider, transaction, amount };
    const why = await this.webhook.post(id, refund, signal);
    if (why) throw why;
  }
}

/** Of a shop that was told of none: its refunds wait as dead letters until it is. */
export class NoRefunds extends PaymentProvider {
  override refund(): Promise<void> {
    return Promise.reject(
      new DiscardDelay('no payment provider gives money back: set REFUNDS_URL, and ask again'),
    );
  }
}
