import { describe, expect, it } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import { DelayService } from 'nestjs-delay-queue';
import { ReconcilerService } from '../../src/shop/reconciler/reconciler.service.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { RunningShop } from './support/running-shop.js';

describe('the reconciler', () => {
  const shop = RunningShop.forAll();

  const reconcile = () => shop.app.get(ReconcilerService).reconcile();
  const makeOverdue = (id: string, by: string) =>
    shop.sql(`UPDATE orders SET pay_deadline = clock_timestamp() - $2::interval WHERE id = $1`, [
      id,
      by,
    ]);
  const loseDelay = (id: string) =>
    shop.sql(`DELETE FROM delay_queue.delay WHERE name = 'order.close' AND key = $1`, [id]);

  it('finds nothing in a healthy shop, and leaves an order alone that is only just overdue', async () => {
    expect(shop.app.get(SchedulerRegistry).getCronJobs().size).toBe(1);
    await shop.orderAfter('pay');
    const [waiting, justOverdue] = [await shop.orderAfter(), await shop.orderAfter()];
    await makeOverdue(waiting.id, '1 hour');
    await makeOverdue(justOverdue.id, '1 minute');
    await loseDelay(justOverdue.id);
    expect(await reconcile()).toEqual([]);
    await shop.act(justOverdue.id, 'cancel');
  });

  it('says aloud that a close was lost or given up, and closes the order', async () => {
    const logger = new RecordingLogger();
    shop.app.useLogger(logger);
    const [lost, dead] = [await shop.orderAfter(), await shop.orderAfter()];
    await loseDelay(lost.id);
    const poison = { after: 0, key: dead.id, maxAttempts: 1 };
    await shop.app.get(DelayService).schedule('order.close', { orderId: 'no uuid' }, poison);
    await shop.orderWhen(dead.id, ({ delays }) => delays[0]?.state === 'dead');
    await makeOverdue(lost.id, '2 hours');
    await makeOverdue(dead.id, '1 hour');

    expect(await reconcile()).toEqual([lost.id, dead.id]);

    expect(logger.lines('error')).toContainEqual(expect.stringContaining(lost.id));
    for (const { id, items } of [lost, dead]) {
      await shop.orderWhen(id, ({ status }) => status === 'CLOSED');
      expect(await shop.stockOf(items[0]!.sku)).toBe(10);
    }
  });
});
