import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Hears } from '../../bench/adapters/adapter.js';
import type { Bench } from '../../bench/bench.js';
import { brokenRules, closingOf } from '../../bench/burst/findings.js';
import { placeOrders, stockShop } from '../../bench/burst/orders.js';
import { openShopWorker } from '../../bench/burst/shop-worker.js';
import { parseCommandLine } from '../../bench/command-line.js';
import { render, type Table } from '../../bench/report/table.js';
import { BenchServer } from '../../bench/server/bench-server.js';
import { measureFull } from '../../bench/shop/full.js';
import { measureSteady, SHORT_LIFE } from '../../bench/shop/steady.js';
import { fullTables, steadyTables } from '../../bench/shop/tables.js';
import { stopAll } from '../../bench/shutdown.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createEmptyDatabase();
  process.env.BENCH_DATABASE_URL = database.url;
});

afterAll(async () => {
  delete process.env.BENCH_DATABASE_URL;
  await stopAll();
  await database.drop();
});

function rowsOf(tables: Table[], name: string): Record<string, string>[] {
  const table = tables.find((each) => each.name === name);
  if (table === undefined) throw new Error(`there is no table ${name}`);
  const [head, , ...rows] = render({ ...table, notes: [] })
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.map((cells) => Object.fromEntries(cells.map((cell, i) => [head?.[i], cell])));
}

it('the shop under load places every order, brings each to its end, and tells how late each timer was', async () => {
  // The lives of orders are waited for, three times.
  Object.assign(SHORT_LIFE, {
    ORDER_PAY_WITHIN: '1s',
    ORDER_REMIND_BEFORE: '500ms',
    ORDER_SMS_AFTER: '200ms',
  });
  const settings = parseCommandLine('shop --seconds 2 --orders-per-second 12'.split(' '));
  if (settings === 'help') throw new Error('asked for help');
  const server = BenchServer.open(() => {});
  const bench: Bench = { settings, progress: () => {}, server: () => server };
  const variant = { title: 'shop · 1 SKU · 3 connections', skus: 1, connections: 3 };
  const [steady, full] = await Promise.all([
    measureSteady(bench),
    measureFull(bench, variant, settings.shopSeconds / 4),
  ]);
  const tables = [
    ...steadyTables([steady], settings.ordersPerSecond),
    ...fullTables([{ variant, measurements: [full] }]),
  ];

  const [{ placed, paid, closed, invariants } = {}] = rowsOf(tables, 'shop-orders');
  expect({ placed, invariants }).toEqual({ placed: '24', invariants: 'hold' });
  expect(Number(paid) + Number(closed)).toBe(24);
  expect(rowsOf(tables, 'shop-answers')[0]).toMatchObject({ answers: '24', unexpected: 'none' });
  const timers = rowsOf(tables, 'shop-lateness').map(({ timer }) => timer);
  expect(timers).toEqual(expect.arrayContaining(['order.close', 'payment.refund', 'all of them']));
  expect(rowsOf(tables, 'shop-full')).toMatchObject([
    { connections: '3', unexpected: 'none', invariants: 'hold' },
  ]);
}, 120_000);

it('the rules of a burst tell what is missing until all orders are closed, each once', async () => {
  const ORDERS = 8;
  const burst = await createTestDatabase();
  const client = new Client({ connectionString: burst.url });
  await client.connect();
  await stockShop(client, 5);
  await placeOrders(client, { orders: ORDERS, skus: 5, leadMs: -2_000, delays: true });
  expect(await brokenRules(client, true)).toEqual([
    `every order is closed: ${ORDERS} broken`,
    `every order is closed once: ${ORDERS} broken`,
    `all stock is back: 5 broken`,
    `no delay is left: ${ORDERS} broken`,
    `each delay ended as completed, once: ${ORDERS} broken`,
  ]);
  const numbers: number[] = [];
  await new Promise<void>((resolve, reject) => {
    let settled = 0;
    const hears: Hears = {
      handled: (n) => void numbers.push(n),
      settled: () => {
        settled += 1;
        if (settled === ORDERS) worker.then((running) => running.stop()).then(resolve, reject);
      },
    };
    const worker = openShopWorker(burst.url, 7, hears);
    worker.then((opened) => opened.start()).catch(reject);
  });
  expect(numbers.toSorted((a, b) => a - b)).toEqual([...Array(ORDERS).keys()]);
  expect(await brokenRules(client, true)).toEqual([]);
  const { p50Ms, p99Ms, lastMs, elapsedMs } = await closingOf(client);
  const figures = [p50Ms, p99Ms, lastMs, elapsedMs];
  expect(figures.toSorted((a, b) => a - b)).toEqual(figures);
  await client.end();
  await burst.drop();
});
