import { applyDecorators, Injectable } from '@nestjs/common';
import {
  OnDelay,
  RepeatDelay,
  type Delay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { TIME_ZONES } from './time-zones.js';

/** One delay for each time zone, whatever the number of processes and merchants. */
const AtNineInEachTimeZone = (): MethodDecorator =>
  applyDecorators(
    ...TIME_ZONES.map((timeZone) =>
      RepeatDelay('merchant.remind', {
        cron: '0 9 * * *',
        timeZone,
        key: timeZone,
        payload: { timeZone },
      }),
    ),
  );

/**
 * The reminder comes every morning while orders wait, and is written once for each morning: it
 * commits together with the move to the next one. After a night without a process it comes once.
 */
@Injectable()
export class RemindMerchantsHandler {
  @AtNineInEachTimeZone()
  @OnDelay('merchant.remind', { transactional: true })
  async remind(
    { payload: { timeZone }, dueAt }: Delay<'merchant.remind'>,
    { manager }: TransactionalDelayContext,
  ): Promise<void> {
    await manager.query(
      `INSERT INTO merchant_reminder (merchant_id, due_at, orders, oldest_paid_at)
       SELECT merchant.id, $2, count(*), min(paid_at)
       FROM merchant JOIN orders ON orders.merchant_id = merchant.id
       WHERE time_zone = $1 AND status = 'PAID' AND disputed_at IS NULL
       GROUP BY merchant.id`,
      [timeZone, dueAt],
    );
  }
}
