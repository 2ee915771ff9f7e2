import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { RunningShop } from './support/running-shop.js';

describe('placing an order', () => {
  const shop = RunningShop.forAll();

  const placeUnder = (key: string, sku: string, quantity: number) =>
    shop.post('/orders', { items: [{ sku, quantity }] }, { 'Idempotency-Key': key });

  const delays = async (): Promise<number> =>
    (await shop.sql<unknown[]>(`SELECT FROM delay_queue.delay`)).length;

  it('answers what the contract says', async () => {
    const sku = await shop.newSku({ price: 250 });
    const before = Date.now();
    const placed = await shop.place(sku, 3);
    expect(Object.keys(placed)).toEqual(['id', 'status', 'total', 'payDeadline', 'serverNow']);
    expect(placed).toMatchObject({ status: 'UNPAID', total: 750 });
    expect(Date.parse(placed.payDeadline) - before).toBeGreaterThan(3_590_000);
  });

  it('waits for a SKU without a lock on its row, and answers a clock that went on meanwhile', async () => {
    const sku = await shop.newSku();
    const lockedBy = async () =>
      (await shop.sql<{ xmax: string }[]>(`SELECT xmax FROM sku WHERE sku = $1`, [sku]))[0];
    const { placing, releasedAt } = await shop.app.get(DataSource).transaction(async (manager) => {
      await manager.query(`UPDATE sku SET stock = stock WHERE sku = $1`, [sku]);
      const alone = await lockedBy();
      const isPlaced = shop.place(sku);
      await shop.untilWaiting(1);
      expect(await lockedBy()).toEqual(alone);
      const [clock] = await manager.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
      return { placing: isPlaced, releasedAt: clock!.now };
    });
    const { serverNow } = await placing;
    expect(Date.parse(serverNow)).toBeGreaterThanOrEqual(releasedAt.getTime());
  });

  it('adds up lines of the same SKU', async () => {
    const sku = await shop.newSku({ stock: 5 });
    const line = { sku, quantity: 2 };
    const { body } = await shop.post('/orders', { items: [line, line] });
    expect((await shop.order(body.id)).items).toMatchObject([{ sku, quantity: 4 }]);
    expect(await shop.stockOf(sku)).toBe(1);
  });

  it('names the SKU that is out of stock and leaves nothing behind', async () => {
    const plenty = await shop.newSku();
    const scarce = await shop.newSku({ stock: 1 });
    const delaysBefore = await delays();
    const items = [plenty, scarce].map((sku) => ({ sku, quantity: 2 }));

    const { status, body } = await shop.post('/orders', { items });

    expect(status).toBe(409);
    expect(body).toMatchObject({ type: '/docs#out-of-stock', title: 'Out of stock', sku: scarce });
    expect(body.detail).toContain(scarce);
    expect(await shop.stockOf(plenty)).toBe(10);
    expect(await shop.stockOf(scarce)).toBe(1);
    expect(await delays()).toBe(delaysBefore);
  });

  it('sells the last pieces once, whoever asks at the same time and in whatever order', async () => {
    const skus = [await shop.newSku(), await shop.newSku()];
    const lines = skus.map((sku) => ({ sku, quantity: 1 }));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        shop.post('/orders', { items: i % 2 ? lines : lines.toReversed() }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409)).toHaveLength(30);
    expect(await shop.stockOf(skus[0]!)).toBe(0);
  });

  describe('with an Idempotency-Key', () => {
    it('answers the same order for the same items, and refuses other ones', async () => {
      const [sku, key] = [await shop.newSku(), randomUUID()];
      const first = await placeUnder(key, sku, 2);
      const second = await placeUnder(key, sku, 2);
      expect([first.status, second.status]).toEqual([201, 201]);
      expect(second.body.id).toBe(first.body.id);
      expect(second.body.payDeadline).toBe(first.body.payDeadline);
      expect((await placeUnder(key, sku, 1)).status).toBe(422);
      expect(await shop.stockOf(sku)).toBe(8);
    });

    it('makes one order of many requests at once', async () => {
      const [sku, key] = [await shop.newSku(), randomUUID()];
      const delaysBefore = await delays();
      const answers = await Promise.all(Array.from({ length: 12 }, () => placeUnder(key, sku, 1)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      expect(await shop.stockOf(sku)).toBe(9);
      expect(await delays()).toBe(delaysBefore + 1);
    });

    it('gives the key back when nothing was ordered', async () => {
      const [sku, key] = [await shop.newSku({ stock: 1 }), randomUUID()];
      expect((await placeUnder(key, sku, 2)).status).toBe(409);
      expect((await placeUnder(key, sku, 1)).status).toBe(201);
    });
  });
});
