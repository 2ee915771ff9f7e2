import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { ORDER_DELAYS } from '../delays.js';
import { Dispute, FrozenTimer } from '../disputes/dispute.entity.js';
import { entityOf, type JsonRow } from '../json-row.js';
import { OutboxMessage } from '../outbox/outbox-message.entity.js';
import { PaymentConflict } from '../payments/payment-conflict.entity.js';
import { Payment } from '../payments/payment.entity.js';
import { Review } from '../reviews/review.entity.js';
import { ORDER_PICTURE } from './order-picture.sql.js';
import type { EndedDelay, Past } from './order-timeline.js';
import type { DelayView } from './orders.schemas.js';
import { Order, OrderItem } from './order.entity.js';

/** A delay that is still to fire, for the view of an order. */
export interface LiveDelay extends Omit<DelayView, 'dueAt'> {
  key: string;
  dueAt: Date;
  lastError: string | null;
}

/** An order with all that belongs to it, at one instant. */
export interface Picture extends Past {
  frozen: FrozenTimer[];
  live: LiveDelay[];
  now: Date;
}

type InJson<T> = Omit<T, 'dueAt' | 'endedAt'> & { dueAt: string; endedAt: string };

/** Empty lists are `null`. */
interface Row {
  order: JsonRow;
  items: JsonRow[];
  payments: JsonRow[] | null;
  reviews: JsonRow[] | null;
  messages: JsonRow[] | null;
  conflicts: { conflict: JsonRow; payment: JsonRow }[] | null;
  disputes: JsonRow[] | null;
  frozen: JsonRow[] | null;
  live: InJson<LiveDelay>[] | null;
  ended: InJson<EndedDelay>[] | null;
  now: Date;
}

/** One statement is one snapshot: an order is never UNPAID beside a close that has already run. */
export async function takePicture(manager: EntityManager, id: string): Promise<Picture | null> {
  const [row] = await manager.query<Row[]>(ORDER_PICTURE, [id, ORDER_DELAYS]);
  if (!row) return null;
  const one = <T extends ObjectLiteral>(type: EntityTarget<T>, json: JsonRow): T =>
    entityOf(manager, type, json);
  const all = <T extends ObjectLiteral>(type: EntityTarget<T>, rows: JsonRow[] | null): T[] =>
    (rows ?? []).map((json) => one(type, json));
  return {
    order: Object.assign(one(Order, row.order), { items: all(OrderItem, row.items) }),
    payments: all(Payment, row.payments),
    review: all(Review, row.reviews)[0] ?? null,
    messages: all(OutboxMessage, row.messages),
    conflicts: (row.conflicts ?? []).map(({ conflict, payment }) =>
      Object.assign(one(PaymentConflict, conflict), { payment: one(Payment, payment) }),
    ),
    disputes: all(Dispute, row.disputes),
    frozen: all(FrozenTimer, row.frozen),
    live: (row.live ?? []).map((delay) => ({ ...delay, dueAt: new Date(delay.dueAt) })),
    ended: (row.ended ?? []).map((delay) => ({
      ...delay,
      dueAt: new Date(delay.dueAt),
      endedAt: new Date(delay.endedAt),
    })),
    now: row.now,
  };
}
