import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { atOnce, statusesOf } from './support/at-once.js';
import { whileHeld } from './support/faults.js';
import { RunningShop } from './support/running-shop.js';

describe('placing an order', () => {
  const shop = RunningShop.forAll();

  const placeUnder = (key: string, sku: string, quantity: number) =>
    shop.post('/orders', { items: [{ sku, quantity }] }, { 'Idempotency-Key': key });

  const delays = async (): Promise<number> =>
    (await shop.sql<unknown[]>(`SELECT FROM delay_queue.delay`)).length;

  it('answers what the contract says, and adds up lines of the same SKU', async () => {
    const sku = await shop.newSku({ price: 250, stock: 5 });
    const before = Date.now();
    const line = { sku, quantity: 2 };
    const { body: placed } = await shop.post('/orders', { items: [line, line] });
    expect(Object.keys(placed)).toEqual(['id', 'status', 'total', 'payDeadline', 'serverNow']);
    expect(placed).toMatchObject({ status: 'UNPAID', total: 1_000 });
    expect(Date.parse(placed.payDeadline) - before).toBeGreaterThan(3_590_000);
    expect((await shop.order(placed.id)).items).toMatchObject([{ sku, quantity: 4 }]);
    expect(await shop.stockOf(sku)).toBe(1);
  });

  it('waits for a SKU without a lock on its row, and answers a clock that went on meanwhile', async () => {
    const sku = await shop.newSku();
    const lockedBy = () => shop.sql<unknown[]>(`SELECT xmax FROM sku WHERE sku = $1`, [sku]);
    const held = ['UPDATE sku SET stock = stock WHERE sku = $1', sku] as [string, unknown];
    const [placing, clock] = await whileHeld(shop, held, async () => {
      const alone = await lockedBy();
      const isPlaced = shop.place(sku);
      await shop.untilWaiting(1);
      expect(await lockedBy()).toEqual(alone);
      return [
        isPlaced,
        await shop.sql<{ now: Date }[]>(`SELECT clock_timestamp() AS now`),
      ] as const;
    });
    const { serverNow } = await placing;
    expect(Date.parse(serverNow)).toBeGreaterThanOrEqual(clock[0]!.now.getTime());
  });

  it('names the SKU that is out of stock and leaves nothing behind', async () => {
    const [plenty, scarce] = [await shop.newSku(), await shop.newSku({ stock: 1 })];
    const delaysBefore = await delays();
    const items = [plenty, scarce].map((sku) => ({ sku, quantity: 2 }));
    const { status, body } = await shop.post('/orders', { items });
    expect(status).toBe(409);
    expect(body).toMatchObject({ type: '/docs#out-of-stock', title: 'Out of stock', sku: scarce });
    expect(body.detail).toContain(scarce);
    expect([await shop.stockOf(plenty), await shop.stockOf(scarce)]).toEqual([10, 1]);
    expect(await delays()).toBe(delaysBefore);
  });

  it('sells the last pieces once, whoever asks at the same time and in whatever order', async () => {
    const skus = [await shop.newSku(), await shop.newSku()];
    const lines = skus.map((sku) => ({ sku, quantity: 1 }));
    const answers = await atOnce(30, (n) =>
      shop.post('/orders', { items: n % 2 ? lines : lines.toReversed() }),
    );
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    expect([count(201), count(409)]).toEqual([10, 20]);
    expect(await shop.stockOf(skus[0]!)).toBe(0);
  });

  it('with an Idempotency-Key makes one order of many requests, at once and later, and refuses other items', async () => {
    const [sku, key] = [await shop.newSku(), randomUUID()];
    const delaysBefore = await delays();
    const answers = await atOnce(12, () => placeUnder(key, sku, 2));
    answers.push(await placeUnder(key, sku, 2));
    expect(statusesOf(answers)).toEqual([201]);
    const orders = answers.map(({ body: { id, payDeadline } }) => `${id} ${payDeadline}`);
    expect(new Set(orders).size).toBe(1);
    expect((await placeUnder(key, sku, 1)).status).toBe(422);
    expect(await shop.stockOf(sku)).toBe(8);
    expect(await delays()).toBe(delaysBefore + 1);
  });

  it('gives an Idempotency-Key back when nothing was ordered', async () => {
    const [sku, key] = [await shop.newSku({ stock: 1 }), randomUUID()];
    expect((await placeUnder(key, sku, 2)).status).toBe(409);
    expect((await placeUnder(key, sku, 1)).status).toBe(201);
  });
});
