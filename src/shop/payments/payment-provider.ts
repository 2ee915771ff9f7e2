import { DiscardDelay } from 'nestjs-delay-queue';
import type { Webhook } from '../webhook.js';
import type { Payment } from './payment.entity.js';

/** Refunds payments. The configuration chooses the provider. */
export abstract class PaymentProvider {
  /**
   * @param payment its `id` is the idempotency key: an attempt that fails after the provider has
   * refunded is repeated, and must not refund twice
   * @throws DiscardDelay when a retry makes no sense, anything else when it does
   */
  abstract refund(payment: Payment, signal: AbortSignal): Promise<void>;
}

/** Posts each refund as JSON to one URL, with the payment's id in `Idempotency-Key`. */
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

/** Without a configured provider: refunds wait as dead letters until there is one. */
export class NoRefunds extends PaymentProvider {
  override refund(): Promise<void> {
    return Promise.reject(
      new DiscardDelay('no refund provider is configured: set REFUNDS_URL and retry'),
    );
  }
}
