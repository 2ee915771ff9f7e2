import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Hears } from '../../bench/adapters/adapter.js';
import { SHOP } from '../../bench/adapters/shop.js';
import { run as mainJob } from '../../bench/main-job.js';
import { render, type Table } from '../../bench/report/table.js';
import { parseCommandLine } from '../../bench/run/command-line.js';
import type { Bench } from '../../bench/run/scenario.js';
import { stopAll } from '../../bench/run/shutdown.js';
import { BenchServer } from '../../bench/server/bench-server.js';
import { run as shop } from '../../bench/shop.js';
import { brokenRules } from '../../bench/shop/closing.js';
import { placeOrders, stockShop } from '../../bench/shop/orders.js';
import { SHORT_LIFE } from '../../bench/shop/steady.js';
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

/** On the server of the tests. */
function benchOf(line: string): Bench {
  const settings = parseCommandLine(line.split(' '));
  if (settings === 'help') throw new Error('asked for help');
  const server = BenchServer.open(() => {});
  return { settings, progress: () => {}, server: () => server };
}

it('the shop under load places every order, brings each to its end, and tells how late each timer was', async () => {
  // The lives of orders are waited for, three times.
  Object.assign(SHORT_LIFE, {
    ORDER_PAY_WITHIN: '1s',
    ORDER_REMIND_BEFORE: '500ms',
    ORDER_SMS_AFTER: '200ms',
  });
  const tables = await shop(
    benchOf('shop --rounds 1 --seconds 1 --orders-per-second 24 --connections 3'),
  );

  const [{ placed, paid, closed, invariants } = {}] = rowsOf(tables, 'shop-orders');
  expect({ placed, invariants }).toEqual({ placed: '24', invariants: 'hold' });
  expect(Number(paid) + Number(closed)).toBe(24);
  expect(rowsOf(tables, 'shop-answers')[0]).toMatchObject({ answers: '24', unexpected: 'none' });
  const timers = rowsOf(tables, 'shop-lateness').map(({ timer }) => timer);
  expect(timers).toEqual(expect.arrayContaining(['order.close', 'payment.refund', 'all of them']));
  expect(rowsOf(tables, 'shop-full')).toMatchObject(
    ['1 SKU', '5 SKUs'].map((skus) => ({
      'orders of': skus,
      unexpected: 'none',
      invariants: 'hold',
    })),
  );
}, 120_000);

it('the rules of closing tell what is missing until all orders are closed, each once', async () => {
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
      claimed: () => {},
      settled: () => {
        settled += 1;
        if (settled === ORDERS) worker.then((running) => running.stop()).then(resolve, reject);
      },
    };
    const worker = SHOP.openWorker(burst.url, { handler: 'close', batch: 7 }, hears);
    worker.then((opened) => opened.start()).catch(reject);
  });
  expect(numbers.toSorted((a, b) => a - b)).toEqual([...Array(ORDERS).keys()]);
  expect(await brokenRules(client, true)).toEqual([]);
  await client.end();
  await burst.drop();
});

it('the main job closes every order once, and tells what a claim, a commit and a trip cost', async () => {
  // Jest cannot load the packages of the others.
  const [systems, line] = [
    'bare,ours,shop',
    'main-job --rounds 1 --orders 60 --batch 20 --systems',
  ];
  const [table] = await mainJob(benchOf(`${line} ${systems}`));
  const rows = rowsOf([table!], 'main-job');
  expect(rows.map((row) => row['lost / twice'])).toEqual(Array(8).fill('0 / 0'));
  const [alone = {}, bare = {}, oneByOne = {}, , batches = {}, shopAlone = {}, shopOneByOne = {}] =
    rows;
  expect([alone['claims'], alone['ratio'], shopAlone['to its own']]).toEqual(['–', '1.00', '1.00']);
  for (const { claims, commits } of [bare, oneByOne, batches, shopOneByOne]) {
    expect([Number(claims) > 0, Number(commits) > 0]).toEqual([true, true]);
  }
  expect(Number(oneByOne['commits'])).toBeGreaterThanOrEqual(1);
  expect(Number(oneByOne['round trips'])).toBeGreaterThan(Number(batches['round trips']));
}, 240_000);
