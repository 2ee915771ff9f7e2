import type { DelayCard, OrderCard } from './feed.js';
import { tenths, type DelayRow, type Picture } from './picture.js';
import { timelineOf } from './timeline.js';

export function orderCard(picture: Picture): OrderCard {
  const { payments, review, disputes, frozen, delays, ...order } = picture;
  const dispute = disputes.find(({ releasedAt }) => releasedAt === null);
  return {
    id: order.id,
    no: order.no,
    status: order.status,
    closeReason: order.closeReason,
    total: order.total,
    merchant: order.merchantId,
    items: order.items.map(({ sku, name, price, quantity }) => ({ sku, name, price, quantity })),
    placedAt: order.placedAt.toISOString(),
    payDeadline: order.payDeadline.toISOString(),
    autoConfirmAt: order.autoConfirmAt?.toISOString() ?? null,
    extended: order.extended,
    dispute: dispute
      ? {
          reason: dispute.reason,
          frozen: frozen.map(({ name, leftMs }) => ({ name, leftMs })),
        }
      : null,
    payments: payments.toReversed().map((payment) => ({
      id: payment.id,
      status: payment.status,
      amount: payment.amount,
      capturedAt: payment.capturedAt.toISOString(),
      refundedAt: payment.refundedAt?.toISOString() ?? null,
      refundReason: payment.refundReason,
    })),
    review: review && { stars: review.stars, source: review.source },
    delays: delays.toSorted(waitingFirst).map(delayCard),
    timeline: timelineOf(picture),
  };
}

function waitingFirst(a: DelayRow, b: DelayRow): number {
  if (a.endedAt && b.endedAt) return b.endedAt.getTime() - a.endedAt.getTime();
  if (a.endedAt || b.endedAt) return a.endedAt ? 1 : -1;
  return a.dueAt.getTime() - b.dueAt.getTime();
}

function delayCard(row: DelayRow): DelayCard {
  const { id, name, state, attempts, by, error, lateMs, dueAt, endedAt, nextAt } = row;
  const firedAt = lateMs === null ? null : new Date(dueAt.getTime() + lateMs);
  return {
    id,
    name,
    state,
    attempts,
    by,
    error,
    dueAt: dueAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    nextAt: nextAt?.toISOString() ?? null,
    firedAt: firedAt?.toISOString() ?? null,
    lateMs: tenths(lateMs),
  };
}
