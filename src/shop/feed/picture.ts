import { In, type EntityManager } from 'typeorm';
import { Dispute, FrozenTimer } from '../disputes/dispute.entity.js';
import { Order } from '../orders/order.entity.js';
import { OutboxMessage } from '../outbox/outbox-message.entity.js';
import { Payment } from '../payments/payment.entity.js';
import { Review } from '../reviews/review.entity.js';
import { DELAYS, ORDERS_IN_THE_NEWS } from './feed.sql.js';
import { ORDERS_MAX, type DelayCard } from './feed.js';

/** How far back one looks for orders that something happened to. */
const NEWS_MAX = 40;

/** A delay that waits or has ended, as `feed.sql.ts` answers it. */
export interface DelayRow {
  id: string;
  name: string;
  key: string;
  state: DelayCard['state'];
  dueAt: Date;
  attempts: number;
  endedAt: Date | null;
  lateMs: number | null;
  by: string | null;
  error: string | null;
}

/** An order with everything that belongs to it. */
export interface Picture {
  order: Order;
  payments: Payment[];
  review: Review | null;
  disputes: Dispute[];
  frozen: FrozenTimer[];
  messages: OutboxMessage[];
  delays: DelayRow[];
}

/** Of the newest orders and of those in the news, newest first. Give it a transaction of one snapshot. */
export async function takePictures(manager: EntityManager): Promise<Picture[]> {
  const rows = await manager.query<{ id: string | null }[]>(ORDERS_IN_THE_NEWS, [
    ORDERS_MAX,
    NEWS_MAX,
  ]);
  const ids = rows.flatMap(({ id }) => id ?? []);
  const ofThem = { where: { orderId: In(ids) } };
  const orders = await manager.find(Order, {
    where: { id: In(ids) },
    relations: { items: true },
    relationLoadStrategy: 'query',
    order: { no: 'DESC' },
  });
  const payments = byOrder(await manager.find(Payment, ofThem));
  const reviews = byOrder(await manager.find(Review, ofThem));
  const disputes = byOrder(await manager.find(Dispute, ofThem));
  const frozen = byOrder(await manager.find(FrozenTimer, ofThem));
  const messages = byOrder(await manager.find(OutboxMessage, ofThem));
  const paymentIds = [...payments.values()].flat().map(({ id }) => id);
  const delays = grouped(
    await manager.query<DelayRow[]>(DELAYS, [ids, paymentIds]),
    ({ key }) => key,
  );
  return orders.map((order) => {
    const its = payments.get(order.id) ?? [];
    return {
      order,
      payments: its,
      review: reviews.get(order.id)?.[0] ?? null,
      disputes: disputes.get(order.id) ?? [],
      frozen: frozen.get(order.id) ?? [],
      messages: messages.get(order.id) ?? [],
      delays: [order, ...its].flatMap(({ id }) => delays.get(id) ?? []),
    };
  });
}

const byOrder = <T extends { orderId: string }>(rows: T[]): Map<string, T[]> =>
  grouped(rows, ({ orderId }) => orderId);

/** `Map.groupBy` is newer than Node 20. */
function grouped<T>(rows: T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

/** To a tenth of a millisecond, which is more than one can see. */
export const tenths = (ms: number | null): number | null => ms && Math.round(ms * 10) / 10;
