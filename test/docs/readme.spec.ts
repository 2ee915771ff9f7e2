import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DelayEvents, DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { readDocument, tableUnder } from './documents.js';
import { unpack, type Unpacked } from './unpacked.js';

interface OrderTimers {
  placed(orderId: string, manager: EntityManager): Promise<void>;
  paid(orderId: string, manager: EntityManager): Promise<void>;
}

describe("the README's ten lines, run as they are", () => {
  const close = 'order.close';
  let blocks: Unpacked;
  let database: TestDatabase;
  let app: INestApplicationContext;
  let timers: OrderTimers;
  let delays: DelayService;
  let source: DataSource;

  beforeAll(async () => {
    blocks = unpack(readDocument('README.md'));
    database = await createEmptyDatabase();
    process.env.DATABASE_URL = database.url;
    const load = async (file: string): Promise<Record<string, Type>> =>
      import(pathToFileURL(join(blocks.folder, file)).href);
    const { AppModule } = await load('app.module.ts');
    const { OrderTimers } = await load('order-timers.ts');
    app = await NestFactory.createApplicationContext(AppModule!, { logger: false });
    timers = app.get(OrderTimers!);
    delays = app.get(DelayService);
    source = app.get(DataSource);
    await source.query('CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL)');
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
    blocks?.remove();
  });

  const place = (id: string): Promise<void> =>
    source.transaction(async (manager) => {
      await manager.query(`INSERT INTO orders VALUES ($1, 'UNPAID')`, [id]);
      await timers.placed(id, manager);
    });

  it('an order closes at its time unless it is paid', async () => {
    await place('a');
    await place('b');
    await source.transaction(async (manager) => {
      await manager.query(`UPDATE orders SET status = 'PAID' WHERE id = 'a'`);
      await timers.paid('a', manager);
    });
    const closed = new Promise((resolve) => {
      app.get(DelayEvents).once('completed', resolve);
    });
    await delays.reschedule(close, 'b', { after: 0 });
    await closed;
    expect(await source.query('SELECT * FROM orders ORDER BY id')).toEqual([
      { id: 'a', status: 'PAID' },
      { id: 'b', status: 'CLOSED' },
    ]);
    expect(await delays.history(close, 'a')).toMatchObject([{ state: 'cancelled' }]);
  });
});

describe("the README's figures", () => {
  it.each([
    ['Figures', 'docs/performance.md'],
    ['What one does today', 'docs/classics.md'],
  ])('under "%s" are those of %s', (heading, page) => {
    const figures = tableUnder(readDocument('README.md'), heading)
      .slice(1)
      .flatMap(([, ...cells]) => cells.flatMap((cell) => cell.match(/\d[\d.,]*\d|\d/g) ?? []));
    const known = new Set(readDocument(page).text.match(/\d[\d.,]*\d|\d/g));
    expect(figures.length).toBeGreaterThan(0);
    expect(figures.filter((figure) => !known.has(figure))).toEqual([]);
  });
});
