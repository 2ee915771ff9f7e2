import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { DelayService, type ScheduleItem } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import type { Order } from '../orders/order.entity.js';

/** A close that is only late, after an outage or a burst, is not lost. */
const GRACE_MS = 5 * 60_000;
/** A round stays small whatever went wrong; the next one continues, oldest first. */
const BATCH = 500;

/**
 * Looks for what cannot happen: an unpaid order past its deadline that nothing will close. Order
 * and delay are written in one transaction, so it expects to find none, whatever crashed.
 */
@Injectable()
export class ReconcilerService {
  private readonly logger = new Logger(ReconcilerService.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** @returns the ids of the orders that had lost their close, and now have one again */
  @Cron(CronExpression.EVERY_HOUR, { waitForCompletion: true })
  async reconcile(): Promise<string[]> {
    const lost = await this.lost();
    const ids = lost.map(({ id }) => id);
    if (ids.length === 0) return ids;
    this.logger.error(
      `${ids.length} unpaid orders had no order.close and get one now: ${ids.slice(0, 10).join(', ')}`,
    );
    await this.delays.scheduleMany(lost.map(closing));
    return ids;
  }

  private async lost(): Promise<LostOrder[]> {
    return await this.dataSource.query<LostOrder[]>(
      `SELECT id, merchant_id AS "merchantId" FROM orders
       WHERE status = 'UNPAID'
         AND pay_deadline < (SELECT clock_timestamp()) - $1 * interval '1 millisecond'
         AND NOT EXISTS (SELECT FROM delay_queue.delay
                         WHERE delay.name = 'order.close' AND delay.key = orders.id::text
                           AND delay.wake_at < 'infinity')
       ORDER BY pay_deadline LIMIT $2`,
      [GRACE_MS, BATCH],
    );
  }
}

type LostOrder = Pick<Order, 'id' | 'merchantId'>;

/** `keep`: another node's reconciler may have been first. The close itself checks the state. */
const closing = ({ id, merchantId }: LostOrder): ScheduleItem<'order.close'> => ({
  name: 'order.close',
  payload: { orderId: id },
  key: id,
  group: merchantId,
  after: 0,
  onConflict: 'keep',
});
