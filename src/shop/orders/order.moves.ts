import { ConflictException, NotFoundException } from '@nestjs/common';
import { Any, IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import type { OrderDelay } from '../delays.js';
import type { News } from '../outbox/news.js';
import { Order } from './order.entity.js';

/** The whole state machine of an order: what is not here cannot be written. */
export type OrderMove =
  | { from: 'UNPAID'; to: 'PAID' }
  | { from: 'UNPAID'; to: 'CLOSED'; closeReason: string }
  | { from: 'PAID'; to: 'SHIPPED' }
  | { from: 'SHIPPED'; to: 'COMPLETED' };

interface Entering {
  stamp: keyof Order;
  news: News;
  /** What has no sense any more. */
  ends: readonly OrderDelay[];
}

export const ON_ENTERING = {
  PAID: { stamp: 'paidAt', news: 'order.paid', ends: ['order.close', 'order.remind'] },
  SHIPPED: { stamp: 'shippedAt', news: 'order.shipped', ends: [] },
  COMPLETED: { stamp: 'completedAt', news: 'order.completed', ends: ['order.confirm'] },
  CLOSED: {
    stamp: 'closedAt',
    news: 'order.closed',
    ends: ['order.close', 'order.remind', 'order.sms'],
  },
} as const satisfies Record<OrderMove['to'], Entering>;

/** An order that has moved, with what the next step wants to know of it. */
export type MovedOrder = Pick<
  Order,
  'id' | 'merchantId' | 'total' | 'confirmAfterMs' | 'rateAfterMs'
>;

/**
 * Moves orders by compare-and-set in the caller's transaction: a fixed number of statements, however
 * many they are. The caller that is answered an id is the only one to have made that move; the row is locked
 * until it commits. An order under dispute does not move. What goes with a move, `OrderMoves` does.
 *
 * @param only further conditions on the rows, judged together with their state
 * @returns those that moved; the others were in another state already
 */
export async function moveOrders(
  manager: EntityManager,
  ids: readonly string[],
  { from, to, ...set }: OrderMove,
  only: FindOptionsWhere<Order> = {},
): Promise<MovedOrder[]> {
  const { stamp } = ON_ENTERING[to];
  const movable = { ...only, id: Any(ids), status: from, disputedAt: IsNull() };
  if (ids.length > 1) await lockInOrder(manager, movable);
  const { raw } = await manager.update(
    Order,
    movable,
    { ...set, status: to, [stamp]: () => 'clock_timestamp()' },
    { returning: ['id', 'merchantId', 'total', 'confirmAfterMs', 'rateAfterMs'] },
  );
  return (raw as RawOrder[]).map(({ id, merchant_id, total, confirm_after_ms, rate_after_ms }) => ({
    id,
    merchantId: merchant_id,
    total,
    confirmAfterMs: Number(confirm_after_ms),
    rateAfterMs: Number(rate_after_ms),
  }));
}

/** As the driver answers it. */
type RawOrder = Record<'id' | 'merchant_id' | 'confirm_after_ms' | 'rate_after_ms', string> & {
  total: number;
};

/**
 * An UPDATE locks its rows in whatever order it meets them, and two that meet the same ones in
 * different orders deadlock. Locked as the UPDATE will: a stronger lock would wait for foreign keys.
 */
async function lockInOrder(manager: EntityManager, where: FindOptionsWhere<Order>): Promise<void> {
  await manager
    .createQueryBuilder(Order, 'orders')
    .select('orders.id')
    .where(where)
    .orderBy('orders.id')
    .setLock('for_no_key_update')
    .getRawMany();
}

/** As in `it is CLOSED (not paid in time)`. */
export const stateOf = ({ status, closeReason }: Order): string =>
  closeReason ? `it is ${status} (${closeReason})` : `it is ${status}`;

/** What was wanted of an order, and what it means that it did not happen. */
export interface Deed {
  /** As in `the order cannot be shipped: it is UNPAID`. */
  name: string;
  /** It was done before: a caller that asks again, because no answer came, is told so. */
  isDone: (order: Order) => boolean | Promise<boolean>;
  /** Left out: because of its state. */
  whyNot?: (order: Order) => string;
}

/**
 * For a compare-and-set that did not find its row. Nothing happens when the deed was done before.
 *
 * @throws 404 for an unknown order; 409 when its state does not allow it
 */
export async function mustBeDone(
  manager: EntityManager,
  id: string,
  { name, isDone, whyNot = stateOf }: Deed,
): Promise<void> {
  const order = await manager.findOneBy(Order, { id });
  if (!order) throw unknownOrder(id);
  if (await isDone(order)) return;
  const reason = order.disputedAt ? `${stateOf(order)} and under dispute` : whyNot(order);
  throw new ConflictException(`the order cannot be ${name}: ${reason}`);
}

export const unknownOrder = (id: string): NotFoundException =>
  new NotFoundException(`there is no order ${id}`);
