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

/**
 * Moves orders by compare-and-set in the caller's transaction: a fixed number of statements, however
 * many they are. Whoever is answered an id is the only one to have made that move; the row is theirs
 * until they commit. An order under dispute does not move. What goes with a move, `OrderMoves` does.
 *
 * @param only further conditions on the rows, judged together with their state
 * @returns the ids of those that moved; the others were in another state already
 */
export async function moveOrders(
  manager: EntityManager,
  ids: readonly string[],
  { from, to, ...set }: OrderMove,
  only: FindOptionsWhere<Order> = {},
): Promise<string[]> {
  const { stamp } = ON_ENTERING[to];
  const movable = { ...only, id: Any(ids), status: from, disputedAt: IsNull() };
  if (ids.length > 1) await lockInOrder(manager, movable);
  const { raw } = await manager.update(
    Order,
    movable,
    { ...set, status: to, [stamp]: () => 'clock_timestamp()' },
    { returning: 'id' },
  );
  return (raw as { id: string }[]).map(({ id }) => id);
}

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

/**
 * Why a compare-and-set did not find its row: 404 or 409.
 *
 * @param deed what was wanted, as in `the order cannot be shipped: it is UNPAID`
 */
export async function refusal(
  manager: EntityManager,
  id: string,
  deed: string,
  why: (order: Order) => string = ({ status }) => `it is ${status}`,
): Promise<NotFoundException | ConflictException> {
  const order = await manager.findOneBy(Order, { id });
  if (!order) return unknownOrder(id);
  const reason = order.disputedAt ? `it is ${order.status} and under dispute` : why(order);
  return new ConflictException(`the order cannot be ${deed}: ${reason}`);
}

export const unknownOrder = (id: string): NotFoundException =>
  new NotFoundException(`there is no order ${id}`);
