import type { Order } from './order.entity.js';
import type { OrderHead } from './orders.schemas.js';

/** The order itself, without what belongs to it. */
export const headOf = (order: Order): OrderHead => ({
  id: order.id,
  no: order.no,
  status: order.status,
  merchant: order.merchantId,
  closeReason: order.closeReason,
  total: order.total,
  placedAt: order.placedAt.toISOString(),
  payDeadline: order.payDeadline.toISOString(),
  autoConfirmAt: order.autoConfirmAt?.toISOString() ?? null,
  extended: order.extended,
  terms: { confirmAfterMs: order.confirmAfterMs, rateAfterMs: order.rateAfterMs },
});
