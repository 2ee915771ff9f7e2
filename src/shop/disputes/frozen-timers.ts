import { ConflictException } from '@nestjs/common';
import type { DelayService, ScheduleItem } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { ORDER_DELAYS, type OrderDelay } from '../delays.js';
import type { Order } from '../orders/order.entity.js';
import { FrozenTimer } from './dispute.entity.js';

/**
 * Removes the timers of an order and keeps how much time was left of each. The caller has locked
 * the order's row, which says already that it is under dispute: an attempt that runs now waits for
 * that row and then does nothing. Its time was over.
 */
export async function freeze(
  manager: EntityManager,
  delays: DelayService,
  orderId: string,
): Promise<void> {
  const due: { name: OrderDelay; at: Date }[] = [];
  for (const name of ORDER_DELAYS) {
    const ended = await delays.cancel(name, orderId, { manager });
    if (ended.verdict !== 'absent') due.push({ name, at: ended.dueAt });
  }
  await manager.query(
    `INSERT INTO frozen_timer (order_id, name, left_ms)
     SELECT $1, name, greatest(0, ceil(extract(epoch FROM due_at - clock_timestamp()) * 1000))
     FROM unnest($2::text[], $3::timestamptz[]) AS due (name, due_at)`,
    [orderId, due.map(({ name }) => name), due.map(({ at }) => at)],
  );
}

/**
 * Starts them again with the time that was left.
 *
 * @returns when each is due
 * @throws 409 while an attempt that began before the dispute holds one of them: a timer started
 * beside it would be lost
 */
export async function thaw(
  manager: EntityManager,
  delays: DelayService,
  { id: orderId, merchantId: group }: Pick<Order, 'id' | 'merchantId'>,
): Promise<Partial<Record<OrderDelay, Date>>> {
  const frozen = await manager.findBy(FrozenTimer, { orderId });
  await manager.delete(FrozenTimer, { orderId });
  const started = await delays.scheduleMany(
    frozen.map(({ name, leftMs: after }): ScheduleItem<OrderDelay> => ({
      name,
      payload: { orderId },
      key: orderId,
      group,
      after,
    })),
    { manager },
  );
  return Object.fromEntries(
    frozen.map(({ name }, index) => {
      const { verdict, dueAt } = started[index]!;
      if (verdict === 'running') {
        throw new ConflictException(
          `the order cannot be released: an attempt of its ${name} is not over; try again`,
        );
      }
      return [name, dueAt];
    }),
  );
}
