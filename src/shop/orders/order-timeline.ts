import type { DelayRecord } from 'nestjs-delay-queue';
import type { Dispute } from '../disputes/dispute.entity.js';
import type { OutboxMessage } from '../outbox/outbox-message.entity.js';
import type { PaymentConflict } from '../payments/payment-conflict.entity.js';
import type { Payment } from '../payments/payment.entity.js';
import type { Review } from '../reviews/review.entity.js';
import type { Order } from './order.entity.js';
import type { Moment } from './orders.schemas.js';

/** A delay that has ended. */
export type EndedDelay = Pick<
  DelayRecord,
  'name' | 'state' | 'dueAt' | 'endedAt' | 'latenessMs' | 'attempts' | 'error'
>;

/** What the timeline is made from. */
export interface Past {
  order: Order;
  payments: Payment[];
  review: Review | null;
  messages: OutboxMessage[];
  disputes: Dispute[];
  /** Of this order's payments, or reported for this order. */
  conflicts: PaymentConflict[];
  /** The delays of this order that have ended. */
  ended: EndedDelay[];
}

/**
 * What happened to an order, oldest first. At the same instant, the shop's own actions come first.
 */
export function timelineOf({
  order,
  payments,
  review,
  messages,
  conflicts,
  disputes,
  ended,
}: Past): Moment[] {
  return [
    moment(order.placedAt, 'order placed'),
    moment(order.paidAt, 'order paid'),
    moment(order.shippedAt, 'order shipped'),
    moment(order.extendedAt, 'time to confirm extended'),
    moment(order.completedAt, 'order completed'),
    moment(order.closedAt, 'order closed', order.closeReason),
    ...payments.flatMap((payment) => [
      moment(payment.capturedAt, 'payment captured', `${payment.amount} by ${payment.provider}`),
      moment(payment.refundedAt, 'payment refunded', payment.refundReason),
    ]),
    moment(review?.createdAt, 'order rated', review && `${review.stars} stars, ${review.source}`),
    ...messages.flatMap(({ sentAt, droppedAt, kind }) => [
      moment(sentAt, 'message sent', kind),
      moment(droppedAt, 'message dropped', kind),
    ]),
    ...disputes.flatMap(({ openedAt, releasedAt, reason }) => [
      moment(openedAt, 'dispute opened', reason),
      moment(releasedAt, 'dispute released'),
    ]),
    ...conflicts.map((conflict) =>
      moment(conflict.reportedAt, 'payment report contradicted', contradiction(conflict)),
    ),
    ...ended.map((delay) => moment(delay.endedAt, `${delay.name} ${delay.state}`, endOf(delay))),
  ]
    .filter((entry) => entry !== null)
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

const moment = (
  at: Date | null | undefined,
  event: string,
  detail: string | null = null,
): Moment | null => (at ? { at: at.toISOString(), event, detail } : null);

const contradiction = ({ orderId, amount, payment }: PaymentConflict): string =>
  `${payment.transaction} by ${payment.provider}: ${amount} for order ${orderId} reported, ` +
  `${payment.amount} for order ${payment.orderId} on record`;

function endOf({ dueAt, latenessMs, attempts, error }: EndedDelay): string {
  const facts = [`due ${dueAt.toISOString()}`];
  if (latenessMs !== null) facts.push(`${latenessMs.toFixed(1)} ms late`);
  if (attempts > 1) facts.push(`${attempts} attempts`);
  if (error !== null) facts.push(error);
  return facts.join(', ');
}
