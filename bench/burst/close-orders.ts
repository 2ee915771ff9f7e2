import type { EntityManager } from 'typeorm';
import { returnStock } from '../../src/shop/catalog/stock.js';
import { moveOrders } from '../../src/shop/orders/order.moves.js';
import { writeNews } from '../../src/shop/outbox/outbox.js';

/** What the shop's own handler does, but for the messages, which nobody sends here. */
export async function closeOrders(manager: EntityManager, ids: readonly string[]): Promise<void> {
  const closeReason = 'not paid in time';
  const moved = await moveOrders(manager, ids, { from: 'UNPAID', to: 'CLOSED', closeReason });
  const closed = moved.map(({ id }) => id);
  await writeNews(manager, 'order.closed', closed);
  await returnStock(manager, closed);
}
