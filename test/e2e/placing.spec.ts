import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { until } from '../support/until.js';
import { RunningShop } from './support/running-shop.js';

describe('placing an order', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterEach(() => shop.mustHold());
  afterAll(() => shop.close());

  const placeUnder = (key: string, sku: string, quantity: number) =>
    shop.post('/orders', { items: [{ sku, quantity }] }, { 'Idempotency-Key': key });

  const delays = async (): Promise<number> => {
    const [row] = await shop.sql<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM delay_queue.delay`,
    );
    return row!.n;
  };

  it('answers what the contract says', async () => {
    const sku = await shop.newSku({ price: 250 });
    const before = Date.now();
    const placed = await shop.place(sku, 3);
    expect(Object.keys(placed)).toEqual(['id', 'status', 'total', 'payDeadline', 'serverNow']);
    expect(placed).toMatchObject({ status: 'UNPAID', total: 750 });
    expect(Date.parse(placed.payDeadline) - before).toBeGreaterThan(3_590_000);
  });

  it('answers a server clock that has not stood still while others held the SKU', async () => {
    const sku = await shop.newSku();
    const { placing, releasedAt } = await shop.app.get(DataSource).transaction(async (manager) => {
      await manager.query(`SELECT FROM sku WHERE sku = $1 FOR UPDATE`, [sku]);
      const isPlaced = shop.place(sku);
      await until(
        () =>
          shop.sql<{ n: number }[]>(
            `SELECT count(*)::int AS n FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          ),
        ([row]) => row?.n === 1,
      );
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
    const plenty = await shop.newSku({ stock: 10 });
    const scarce = await shop.newSku({ stock: 1 });
    const delaysBefore = await delays();

    const answer = await shop.post('/orders', {
      items: [
        { sku: plenty, quantity: 1 },
        { sku: scarce, quantity: 2 },
      ],
    });

    expect(answer).toMatchObject({ status: 409, body: { sku: scarce } });
    expect(answer.body.detail).toContain(scarce);
    expect(await shop.stockOf(plenty)).toBe(10);
    expect(await shop.stockOf(scarce)).toBe(1);
    expect(await delays()).toBe(delaysBefore);
  });

  it('has no lock on the row of a SKU while it waits for its turn', async () => {
    const sku = await shop.newSku();
    const lockedBy = async (): Promise<string> => {
      const [row] = await shop.sql<{ xmax: string }[]>(`SELECT xmax FROM sku WHERE sku = $1`, [
        sku,
      ]);
      return row!.xmax;
    };
    const other = shop.app.get(DataSource).createQueryRunner();
    await other.startTransaction();
    await other.query(`UPDATE sku SET stock = stock - 1 WHERE sku = $1`, [sku]);
    const alone = await lockedBy();

    const placing = shop.place(sku);
    await until(
      () =>
        shop.sql<unknown[]>(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      (waiting) => waiting.length > 0,
    );

    expect(await lockedBy()).toBe(alone);
    await other.rollbackTransaction();
    await other.release();
    expect(await placing).toMatchObject({ status: 'UNPAID' });
  });

  it('sells the last pieces once, whoever asks at the same time and in whatever order', async () => {
    const [one, two] = [await shop.newSku({ stock: 10 }), await shop.newSku({ stock: 10 })];
    const lines = [
      { sku: one, quantity: 1 },
      { sku: two, quantity: 1 },
    ];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        shop.post('/orders', { items: i % 2 ? lines : lines.toReversed() }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409)).toHaveLength(30);
    expect(await shop.stockOf(one)).toBe(0);
  });

  it.each([
    ['no body', undefined, /object/],
    ['no items', {}, /^items: /],
    ['an empty cart', { items: [] }, /^items: /],
    ['items that are no list', { items: 'CUP-WHITE' }, /^items: /],
    [
      'too many lines',
      { items: Array.from({ length: 21 }, () => ({ sku: 'CUP-WHITE', quantity: 1 })) },
      /^items: /,
    ],
    ['no SKU', { items: [{ quantity: 1 }] }, /^items\.0\.sku: /],
    ['a hostile SKU', { items: [{ sku: "x'\u0000", quantity: 1 }] }, /^items\.0\.sku: /],
    ['an unknown SKU', { items: [{ sku: 'NOPE', quantity: 1 }] }, /"NOPE"/],
    ['half a piece', { items: [{ sku: 'CUP-WHITE', quantity: 0.5 }] }, /^items\.0\.quantity: /],
    ['nothing of it', { items: [{ sku: 'CUP-WHITE', quantity: 0 }] }, /^items\.0\.quantity: /],
    ['less than nothing', { items: [{ sku: 'CUP-WHITE', quantity: -1 }] }, /^items\.0\.quantity: /],
    [
      'a text for a number',
      { items: [{ sku: 'CUP-WHITE', quantity: '1' }] },
      /^items\.0\.quantity/,
    ],
  ])('refuses %s and names the field', async (_, body, message) => {
    const answer = await shop.post('/orders', body);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatch(message);
  });

  it('refuses what is no JSON, and more than anybody orders', async () => {
    expect((await shop.send('POST', '/orders', '{"items":')).status).toBe(400);
    expect((await shop.send('POST', '/orders', JSON.stringify('x'.repeat(70_000)))).status).toBe(
      413,
    );
  });

  describe('with an Idempotency-Key', () => {
    it('answers the same order for the same items', async () => {
      const [sku, key] = [await shop.newSku(), randomUUID()];
      const first = await placeUnder(key, sku, 2);
      const second = await placeUnder(key, sku, 2);
      expect([first.status, second.status]).toEqual([201, 201]);
      expect(second.body.id).toBe(first.body.id);
      expect(second.body.payDeadline).toBe(first.body.payDeadline);
      expect(await shop.stockOf(sku)).toBe(8);
    });

    it('refuses it for other items', async () => {
      const [sku, key] = [await shop.newSku(), randomUUID()];
      await placeUnder(key, sku, 1);
      expect((await placeUnder(key, sku, 2)).status).toBe(422);
      expect(await shop.stockOf(sku)).toBe(9);
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

    it('refuses a key that cannot be kept', async () => {
      const answer = await placeUnder('k'.repeat(256), await shop.newSku(), 1);
      expect(answer.status).toBe(400);
      expect(answer.body.detail).toMatch(/^Idempotency-Key: /);
    });
  });
});
