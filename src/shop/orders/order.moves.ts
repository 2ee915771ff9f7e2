import { ConflictException, NotFoundException } from '@nestjs/common';
import { Any, IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import type { OrderDelay } from '../delays.js';
import type { News } from '../outbox/news.js';
import { Order } from './order.entity.js';

/** The whole state machine of an order: other moves cannot be written. */
export type OrderMove =
  | { from: 'UNPAID'; to: 'PAID' }
  | { from: 'UNPAID'; to: 'CLOSED'; closeReason: string }
  | { from: 'PAID'; to: 'SHIPPED' }
  | { from: 'SHIPPED'; to: 'COMPLETED' };

interface Entering {
  stamp: keyof Order;
  news: News;
  /** Delays that make no sense after the move. */
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

/** An order that has moved, with what the next step needs of it. */
export type MovedOrder = Pick<
  Order,
  'id' | 'merchantId' | 'total' | 'confirmAfterMs' | 'rateAfterMs'
>;

/**
 * Moves orders by compare-and-set in the caller's transaction, with a fixed number of statements
 * however many there are. An id is returned to the one caller that made the move; its row is locked
 * until that caller commits. Orders under dispute do not move. `OrderMoves` adds what goes with a
 * move.
 *
 * @param only further conditions on the rows, checked together with their state
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

/** As the driver returns it. */
type RawOrder = Record<'id' | 'merchant_id' | 'confirm_after_ms' | 'rate_after_ms', string> & {
  total: number;
};

/**
 * An UPDATE locks rows in any order, and two that meet the same rows in different orders deadlock.
 * The lock is that of the UPDATE: a stronger one would wait for foreign keys.
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

/** Such as `it is CLOSED (not paid in time)`. */
export const stateOf = ({ status, closeReason }: Order): string =>
  closeReason ? `it is ${status} (${closeReason})` : `it is ${status}`;

/** What a caller wanted to do with an order, and how to explain that it did not happen. */
export interface Deed {
  /** As in `the order cannot be shipped: it is UNPAID`. */
  name: string;
  /** Whether it was done before: a caller that got no answer asks again, and gets this one. */
  isDone: (order: Order) => boolean | Promise<boolean>;
  /** Default: because of its state. */
  whyNot?: (order: Order) => string;
}

/**
 * For a compare-and-set that did not find its row. Does nothing if the deed was done before.
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
