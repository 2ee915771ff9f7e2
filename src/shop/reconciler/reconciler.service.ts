import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { DelayService, type ScheduleItem } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';

/** A close that is merely late, behind an outage or a burst, is not lost. */
const GRACE_MS = 5 * 60_000;
/** One round stays small whatever went wrong; the next one goes on, oldest first. */
const BATCH = 500;

/**
 * Looks for what cannot be: an unpaid order past its deadline that nothing will close. The order
 * and its delay are written in one transaction, so it expects to find none, whatever crashed.
 */
@Injectable()
export class ReconcilerService {
  private readonly logger = new Logger(ReconcilerService.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** @returns the ids of the orders that had lost their close, and have one again */
  @Cron(CronExpression.EVERY_HOUR, { waitForCompletion: true })
  async reconcile(): Promise<string[]> {
    const ids = await this.lost();
    if (ids.length === 0) return ids;
    this.logger.error(
      `${ids.length} unpaid orders had no order.close and get one now: ${ids.slice(0, 10).join(', ')}`,
    );
    await this.delays.scheduleMany(ids.map(closing));
    return ids;
  }

  private async lost(): Promise<string[]> {
    const lost = await this.dataSource.query<{ id: string }[]>(
      `SELECT id FROM orders
       WHERE status = 'UNPAID'
         AND pay_deadline < (SELECT clock_timestamp()) - $1 * interval '1 millisecond'
         AND NOT EXISTS (SELECT FROM delay_queue.delay
                         WHERE delay.name = 'order.close' AND delay.key = orders.id::text
                           AND delay.wake_at < 'infinity')
       ORDER BY pay_deadline LIMIT $2`,
      [GRACE_MS, BATCH],
    );
    return lost.map(({ id }) => id);
  }
}

/** `keep`: another node's reconciler may have been first. The close itself checks the state. */
const closing = (orderId: string): ScheduleItem<'order.close'> => ({
  name: 'order.close',
  payload: { orderId },
  key: orderId,
  after: 0,
  onConflict: 'keep',
});
