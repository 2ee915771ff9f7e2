import { jest, afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ReconcilerService } from '../../src/shop/reconciler/reconciler.service.js';
import { RunningShop } from './support/running-shop.js';

describe('the reconciler', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterAll(() => shop.close());

  const reconcile = () => shop.app.get(ReconcilerService).reconcile();
  const makeOverdue = (id: string, by: string) =>
    shop.sql(`UPDATE orders SET pay_deadline = clock_timestamp() - $2::interval WHERE id = $1`, [
      id,
      by,
    ]);
  const loseDelay = (id: string) =>
    shop.sql(`DELETE FROM delay_queue.delay WHERE name = 'order.close' AND key = $1`, [id]);

  it('finds nothing in a healthy shop', async () => {
    const { id } = await shop.orderAfter();
    await makeOverdue(id, '1 hour');
    await shop.orderAfter('pay');
    expect(await reconcile()).toEqual([]);
  });

  it('leaves an order alone that is only just overdue', async () => {
    const { id } = await shop.orderAfter();
    await makeOverdue(id, '1 minute');
    await loseDelay(id);
    expect(await reconcile()).toEqual([]);
  });

  it('says aloud that a close was lost, and closes the order', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const lost = await shop.orderAfter();
    await makeOverdue(lost.id, '1 hour');
    await loseDelay(lost.id);

    expect(await reconcile()).toEqual([lost.id]);

    expect(error).toHaveBeenCalledWith(expect.stringContaining(lost.id));
    error.mockRestore();
    await shop.orderWhen(lost.id, ({ status }) => status === 'CLOSED');
    expect(await shop.stockOf(lost.items[0]!.sku)).toBe(10);
  });
});
