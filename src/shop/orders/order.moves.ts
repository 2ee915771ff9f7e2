import { ConflictException, NotFoundException } from '@nestjs/common';
import type { EntityManager, FindOptionsWhere } from 'typeorm';
import { OutboxMessage, type News } from '../outbox/outbox-message.entity.js';
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
 * Moves an order by compare-and-set and writes the news of it, in the caller's transaction.
 * Whoever gets `true` is the only one to have made this move; the row is theirs until they commit.
 *
 * @param only further conditions on the row, judged together with its state
 */
export async function moveOrder(
  manager: EntityManager,
  id: string,
  { from, to, ...set }: OrderMove,
  only: FindOptionsWhere<Order> = {},
): Promise<boolean> {
  const { stamp, news } = ON_ENTERING[to];
  const { affected } = await manager.update(
    Order,
    { ...only, id, status: from },
    { ...set, status: to, [stamp]: () => 'clock_timestamp()' },
  );
  if (affected !== 1) return false;
  await manager.insert(OutboxMessage, { orderId: id, kind: news });
  return true;
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
