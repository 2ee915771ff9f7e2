import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { refusal } from '../orders/order.moves.js';
import type { ReviewSource } from './review.entity.js';

/**
 * Rates a completed order, once: whoever comes second changes nothing and gets `false`. A caught
 * unique violation would not do, it rolls the transaction back.
 */
export async function rate(
  manager: EntityManager,
  orderId: string,
  { stars, source }: { stars: number; source: ReviewSource },
): Promise<boolean> {
  const rated = await manager.query<unknown[]>(
    `INSERT INTO review (order_id, stars, source)
     SELECT id, $2, $3 FROM orders WHERE id = $1 AND status = 'COMPLETED'
     ON CONFLICT DO NOTHING
     RETURNING order_id`,
    [orderId, stars, source],
  );
  return rated.length === 1;
}

@Injectable()
export class ReviewsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** @throws 409 unless the order is completed and nobody has rated it */
  review(orderId: string, stars: number): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await rate(manager, orderId, { stars, source: 'buyer' }))) {
        throw await refusal(manager, orderId, 'rated', ({ status }) =>
          status === 'COMPLETED' ? 'it has a rating' : `it is ${status}`,
        );
      }
      await this.delays.cancel('order.rate', orderId, { manager });
    });
  }
}
