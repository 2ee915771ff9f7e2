import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Bench } from '../../../bench/bench.js';
import { parseCommandLine } from '../../../bench/command-line.js';
import { render, type Table } from '../../../bench/report/table.js';
import { BenchServer } from '../../../bench/server/bench-server.js';
import { run } from '../../../bench/shop.js';
import { type Crowd, SessionWatch, type TimeSpent } from '../../../bench/shop/sessions.js';
import { SHORT_LIFE } from '../../../bench/shop/steady.js';
import { stopAll } from '../../../bench/shutdown.js';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/database.js';
import { until } from '../../support/until.js';

/** NaN: there is no figure. */
const valueOf = (cell = ''): number => Number(cell.replaceAll(',', ''));

describe('the shop under load, in the benchmark', () => {
  let database: TestDatabase;
  let tables: Table[];

  beforeAll(async () => {
    database = await createEmptyDatabase();
    process.env.BENCH_DATABASE_URL = database.url;
    // The lives of orders are waited for, three times.
    Object.assign(SHORT_LIFE, {
      ORDER_PAY_WITHIN: '2s',
      ORDER_REMIND_BEFORE: '1s',
      ORDER_SMS_AFTER: '500ms',
    });
    const args = 'shop --rounds 1 --seconds 2 --orders-per-second 12 --connections 3'.split(' ');
    const settings = parseCommandLine(args);
    if (settings === 'help') throw new Error('asked for help');
    const server = BenchServer.open(() => {});
    const bench: Bench = { settings, progress: () => {}, server: () => server };
    tables = await run(bench);
  }, 120_000);

  afterAll(async () => {
    delete process.env.BENCH_DATABASE_URL;
    await stopAll();
    await database.drop();
  });

  const rowsOf = (name: string): Record<string, string>[] => {
    const table = tables.find((each) => each.name === name);
    if (table === undefined) throw new Error(`there is no table ${name}`);
    const [head, , ...rows] = render({ ...table, notes: [] })
      .split('\n')
      .slice(2)
      .map((line) => line.split('|').map((cell) => cell.trim()));
    return rows.map((cells) => Object.fromEntries(cells.map((cell, i) => [head?.[i], cell])));
  };

  it('places every order, brings each to its end, and tells how late each kind of timer was', () => {
    const [{ placed, paid, closed, invariants } = {}] = rowsOf('shop-orders');
    expect({ placed, invariants }).toEqual({ placed: '24', invariants: 'hold' });
    expect(Number(paid) + Number(closed)).toBe(24);
    expect(rowsOf('shop-answers').slice(0, 4)).toMatchObject([
      { request: 'POST /orders', answers: '24', unexpected: 'none' },
      { request: 'POST /orders/:id/pay', answers: '8' },
      { request: 'POST /orders/:id/cancel', answers: '4' },
      { request: 'POST /payments/callback', answers: '4', unexpected: 'none' },
    ]);
    const timers = rowsOf('shop-lateness');
    expect(timers.map(({ timer }) => timer)).toEqual([
      'order.sms',
      'order.remind',
      'order.close',
      'message.send',
      'payment.refund',
      'all of them',
    ]);
    for (const timer of timers) expect(valueOf(timer['late p99 ms'])).not.toBeNaN();
  });

  it('tells what its processes hold, how many orders it takes of one SKU and of five, and what its sessions do', () => {
    const processes = rowsOf('shop-memory');
    expect(processes.length).toBeGreaterThan(0);
    for (const each of processes) {
      for (const moment of ['before MiB', 'halfway MiB', 'after MiB']) {
        expect(valueOf(each[moment])).toBeGreaterThan(1);
      }
    }
    const full = rowsOf('shop-full');
    expect(full).toMatchObject([
      { 'orders of': '1 SKU', connections: '3', unexpected: 'none', invariants: 'hold' },
      { 'orders of': '5 SKUs', connections: '3', unexpected: 'none', invariants: 'hold' },
    ]);
    for (const each of full) expect(valueOf(each['orders/s'])).toBeGreaterThan(0);
    expect(rowsOf('shop-waits')).toHaveLength(4);
  });
});

it('a watch of sessions tells who waits for a row, and what the one who holds it does', async () => {
  const database = await createTestDatabase();
  const [holder, waiter] = [1, 2].map(() => new Client(database.url)) as [Client, Client];
  await Promise.all([holder.connect(), waiter.connect()]);
  const update = `UPDATE sku SET stock = stock + 1 WHERE sku = (SELECT min(sku) FROM sku)`;
  await holder.query('BEGIN');
  await holder.query(update);
  const waiting = waiter.query(update);
  const spent = await until(
    async (): Promise<Record<Crowd, TimeSpent>> => {
      const watch = await SessionWatch.start(database.url);
      return watch.stop();
    },
    ({ 'all sessions': all }) => all.shares['row lock'] > 0,
  );
  await holder.query('ROLLBACK');
  await waiting;
  await Promise.all([holder.end(), waiter.end()]);
  await database.drop();

  expect(spent['all sessions']).toMatchObject({
    sessions: 2,
    shares: { 'row lock': 0.5, process: 0.5 },
  });
  expect(spent['who holds what others wait for']).toEqual({
    sessions: 1,
    shares: { 'row lock': 0, 'WAL flush': 0, core: 0, process: 1, else: 0 },
    events: [['idle in transaction', 1]],
  });
});
