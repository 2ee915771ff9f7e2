import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { mustBeDone, stateOf } from '../orders/order.moves.js';
import { Review, type ReviewSource } from './review.entity.js';

/**
 * Rates completed orders, each once: a second call changes nothing. Catching a unique violation
 * would not do, since that rolls the transaction back. In id order, because concurrent inserts for
 * one order wait for each other. The orders are locked: a dispute comes before or after.
 *
 * @returns the ids of the orders that this call rated
 */
export async function rateAll(
  manager: EntityManager,
  orderIds: readonly string[],
  { stars, source }: { stars: number; source: ReviewSource },
): Promise<string[]> {
  const rated = await manager.query<{ order_id: string }[]>(
    `INSERT INTO review (order_id, stars, source)
     SELECT id, $2, $3 FROM orders
     WHERE id = ANY ($1) AND status = 'COMPLETED' AND disputed_at IS NULL ORDER BY id FOR SHARE
     ON CONFLICT DO NOTHING
     RETURNING order_id`,
    [orderIds, stars, source],
  );
  return rated.map((review) => review.order_id);
}

@Injectable()
export class ReviewsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /**
   * @throws 409 unless the order is completed, and either not rated or rated the same by the buyer
   */
  review(orderId: string, stars: number): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const rated = await rateAll(manager, [orderId], { stars, source: 'buyer' });
      if (rated.length === 0) {
        const before = await manager.findOneBy(Review, { orderId });
        return mustBeDone(manager, orderId, {
          name: 'rated',
          isDone: () => before?.source === 'buyer' && before.stars === stars,
          whyNot: (order) => (before ? `it has a rating of ${before.stars} stars` : stateOf(order)),
        });
      }
      await this.delays.cancel('order.rate', orderId, { manager });
    });
  }
}
