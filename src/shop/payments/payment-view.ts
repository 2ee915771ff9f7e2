import type { DelayInfo } from 'nestjs-delay-queue';
import type { Payment } from './payment.entity.js';
import type { PaymentLine, PaymentView } from './payments.schemas.js';

const columnsOf = (payment: Payment): Omit<PaymentView, 'refundError'> => ({
  id: payment.id,
  status: payment.status,
  amount: payment.amount,
  provider: payment.provider,
  transaction: payment.transaction,
  refundReason: payment.refundReason,
  capturedAt: payment.capturedAt.toISOString(),
  refundedAt: payment.refundedAt?.toISOString() ?? null,
});

/**
 * @param refund its `payment.refund`, if there is one. It outlives the refund by the moment between
 *   the handler's commit and its completion: a refunded payment shows no error.
 */
export const paymentView = (
  payment: Payment,
  refund: Pick<DelayInfo, 'lastError'> | undefined,
): PaymentView => ({
  ...columnsOf(payment),
  refundError: payment.status === 'REFUND_PENDING' ? (refund?.lastError ?? null) : null,
});

export const paymentLine = (payment: Payment): PaymentLine => ({
  ...columnsOf(payment),
  orderId: payment.orderId,
});
