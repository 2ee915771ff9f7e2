import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Hears } from '../../../bench/adapters/adapter.js';
import { brokenRules, closingOf } from '../../../bench/burst/findings.js';
import { placeOrders, stockShop } from '../../../bench/burst/orders.js';
import { openShopWorker } from '../../../bench/burst/shop-worker.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

const ORDERS = 30;
const SKUS = 5;

/** Resolves when the worker is done with so many orders. */
class Heard implements Hears {
  readonly numbers: number[] = [];
  #open = ORDERS;
  #resolve!: () => void;
  readonly all = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  handled(n: number): void {
    this.numbers.push(n);
  }

  settled(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#resolve();
  }
}

describe('the rules of a burst', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    await stockShop(client, SKUS);
    await placeOrders(client, { orders: ORDERS, skus: SKUS, leadMs: -2_000 });
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it('tell what is missing until all are closed, each once; the figures are of these closes', async () => {
    expect(await brokenRules(client)).toEqual([
      `every order is closed: ${ORDERS} broken`,
      `every order is closed once: ${ORDERS} broken`,
      `all stock is back: ${SKUS} broken`,
      `no delay is left: ${ORDERS} broken`,
      `each delay ended as completed, once: ${ORDERS} broken`,
    ]);
    const heard = new Heard();
    const worker = await openShopWorker(database.url, 7, heard);
    await worker.start();
    await heard.all;
    await worker.stop();
    expect(heard.numbers.toSorted((a, b) => a - b)).toEqual([...Array(ORDERS).keys()]);
    const { p50Ms, p99Ms, lastMs, elapsedMs } = await closingOf(client);
    const figures = [p50Ms, p99Ms, lastMs, elapsedMs];
    expect(figures.toSorted((a, b) => a - b)).toEqual(figures);
  });

  it.each([
    [
      'every order is closed',
      `UPDATE orders SET status = 'UNPAID', close_reason = NULL WHERE no = (SELECT min(no) FROM orders)`,
    ],
    ['every order is closed once', `DELETE FROM outbox WHERE id = (SELECT min(id) FROM outbox)`],
    [
      'no order is closed before its deadline',
      `UPDATE orders SET closed_at = pay_deadline - interval '1 millisecond'
         WHERE no = (SELECT min(no) FROM orders)`,
    ],
    ['all stock is back', `UPDATE sku SET stock = stock + 1 WHERE sku = 'SKU-000000'`],
    [
      'no delay is left',
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
         SELECT 'order.close', '{}', now, now, now FROM clock_timestamp() AS now`,
    ],
    [
      'each delay ended as completed, once',
      `DELETE FROM delay_queue.history WHERE id = (SELECT min(id) FROM delay_queue.history)`,
    ],
  ])('find out when it is not true that %s', async (rule, tamper) => {
    expect(await brokenRules(client)).toEqual([]);
    await client.query('BEGIN');
    await client.query(tamper);
    expect(await brokenRules(client)).toContain(`${rule}: 1 broken`);
    await client.query('ROLLBACK');
  });
});
