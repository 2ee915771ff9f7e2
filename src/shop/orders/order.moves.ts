import { ConflictException, NotFoundException } from '@nestjs/common';
import { Any, type EntityManager, type FindOptionsWhere } from 'typeorm';
import type { News } from '../outbox/outbox-message.entity.js';
import { Order } from './order.entity.js';

/** The whole state machine of an order: what is not here cannot be written. */
export type OrderMove =
  | { from: 'UNPAID'; to: 'PAID' }
  | { from: 'UNPAID'; to: 'CLOSED'; closeReason: string }
  | { from: 'PAID'; to: 'SHIPPED' }
  | { from: 'SHIPPED'; to: 'COMPLETED' };

const ON_ENTERING = {
  PAID: { stamp: 'paidAt', news: 'order.paid' },
  SHIPPED: { stamp: 'shippedAt', news: 'order.shipped' },
  COMPLETED: { stamp: 'completedAt', news: 'order.completed' },
  CLOSED: { stamp: 'closedAt', news: 'order.closed' },
} as const satisfies Record<OrderMove['to'], { stamp: keyof Order; news: News }>;

/**
 * Moves orders by compare-and-set and writes the news of them, in the caller's transaction: a fixed
 * number of statements, however many they are. Whoever is answered an id is the only one to have
 * made that move; the row is theirs until they commit.
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
  const { stamp, news } = ON_ENTERING[to];
  const movable = { ...only, id: Any(ids), status: from };
  if (ids.length > 1) await lockInOrder(manager, movable);
  const { raw } = await manager.update(
    Order,
    movable,
    { ...set, status: to, [stamp]: () => 'clock_timestamp()' },
    { returning: 'id' },
  );
  const moved = (raw as { id: string }[]).map(({ id }) => id);
  if (moved.length > 0) {
    await manager.query(`INSERT INTO outbox (order_id, kind) SELECT unnest($1::uuid[]), $2`, [
      moved,
      news,
    ]);
  }
  return moved;
}

/** {@link moveOrders} for a single one. */
export async function moveOrder(
  manager: EntityManager,
  id: string,
  move: OrderMove,
  only?: FindOptionsWhere<Order>,
): Promise<boolean> {
  return (await moveOrders(manager, [id], move, only)).length === 1;
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
  return order
    ? new ConflictException(`the order cannot be ${deed}: ${why(order)}`)
    : unknownOrder(id);
}

export const unknownOrder = (id: string): NotFoundException =>
  new NotFoundException(`there is no order ${id}`);
