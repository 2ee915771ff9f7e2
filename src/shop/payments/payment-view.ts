import type { DelayInfo } from 'nestjs-delay-queue';
import type { Payment } from './payment.entity.js';
import type { PaymentView } from './payments.schemas.js';

/** @param refund its `payment.refund`, when there is one */
export const paymentView = (payment: Payment, refund: DelayInfo | undefined): PaymentView => ({
  id: payment.id,
  status: payment.status,
  amount: payment.amount,
  provider: payment.provider,
  transaction: payment.transaction,
  refundReason: payment.refundReason,
  refundError: refund?.lastError ?? null,
  capturedAt: payment.capturedAt.toISOString(),
  refundedAt: payment.refundedAt?.toISOString() ?? null,
});
