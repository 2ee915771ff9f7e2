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

/** @param refund its `payment.refund`, if there is one */
export const paymentView = (
  payment: Payment,
  refund: Pick<DelayInfo, 'lastError'> | undefined,
): PaymentView => ({
  ...columnsOf(payment),
  refundError: refund?.lastError ?? null,
});

export const paymentLine = (payment: Payment): PaymentLine => ({
  ...columnsOf(payment),
  orderId: payment.orderId,
});
