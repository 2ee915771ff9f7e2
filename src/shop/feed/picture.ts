import type { Dispute, FrozenTimer } from '../disputes/dispute.entity.js';
import type { Order, OrderItem } from '../orders/order.entity.js';
import type { OutboxMessage } from '../outbox/outbox-message.entity.js';
import type { Payment } from '../payments/payment.entity.js';
import type { Review } from '../reviews/review.entity.js';
import type { DelayCard } from './feed.js';

/** A delay that waits or has ended. */
export interface DelayRow {
  id: string;
  name: string;
  state: DelayCard['state'];
  dueAt: Date;
  attempts: number;
  endedAt: Date | null;
  lateMs: number | null;
  by: string | null;
  error: string | null;
  nextAt: Date | null;
  /** Which race a live `race.pay` belongs to. */
  race: string | null;
}

type OrderRow = Pick<
  Order,
  | 'id'
  | 'no'
  | 'status'
  | 'total'
  | 'merchantId'
  | 'payDeadline'
  | 'autoConfirmAt'
  | 'extended'
  | 'closeReason'
  | 'placedAt'
  | 'paidAt'
  | 'shippedAt'
  | 'extendedAt'
  | 'completedAt'
  | 'closedAt'
>;

/** An order with everything that belongs to it, as `feed.sql.ts` returns it. */
export interface Picture extends OrderRow {
  items: Pick<OrderItem, 'sku' | 'name' | 'price' | 'quantity'>[];
  /** The latest first. */
  payments: Pick<
    Payment,
    'id' | 'status' | 'amount' | 'capturedAt' | 'refundedAt' | 'refundReason'
  >[];
  review: Pick<Review, 'stars' | 'source' | 'createdAt'> | null;
  disputes: Pick<Dispute, 'id' | 'reason' | 'openedAt' | 'releasedAt'>[];
  frozen: Pick<FrozenTimer, 'name' | 'leftMs'>[];
  messages: Pick<OutboxMessage, 'id' | 'kind' | 'createdAt' | 'sentAt'>[];
  delays: DelayRow[];
}

export const pictureOf = (row: string): Picture => JSON.parse(row, withInstants) as Picture;

/** Names show which values are instants. */
const withInstants = (name: string, value: unknown): unknown =>
  typeof value === 'string' && (name.endsWith('At') || name === 'payDeadline')
    ? new Date(value)
    : value;

/** To a tenth of a millisecond, finer than anyone can see. */
export const tenths = (ms: number | null): number | null => ms && Math.round(ms * 10) / 10;
