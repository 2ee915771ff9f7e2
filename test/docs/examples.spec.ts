import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DelayEvents, DelayService } from 'nestjs-delay-queue';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { until } from '../support/until.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { startNode, type DelayNode } from '../support/delay-node.js';
import { readDocument } from './documents.js';
import { unpack, type Unpacked } from './unpacked.js';

const PAID = '11111111-1111-4111-8111-111111111111';
const UNPAID = '22222222-2222-4222-8222-222222222222';
const DAY_MS = 24 * 60 * 60 * 1_000;

/** What a block exports; `code-blocks.spec.ts` has its types checked. */
async function load<Exports>({ folder }: Unpacked, file: string): Promise<Exports> {
  const exports: Exports = await import(pathToFileURL(join(folder, file)).href);
  return exports;
}

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'report.daily': { region: string };
  }
}

describe("the README's example, run as it is", () => {
  const close = 'order.close';
  let blocks: Unpacked;
  let database: TestDatabase;
  let app: INestApplicationContext;
  let timers: { place(id: string): Promise<void>; pay(id: string): Promise<void> };
  let delays: DelayService;

  beforeAll(async () => {
    blocks = unpack(readDocument('README.md'));
    database = await createEmptyDatabase();
    process.env.DATABASE_URL = database.url;
    await load(blocks, 'migrate.ts');
    const { databaseOptions } = await load<{ databaseOptions: DataSourceOptions }>(
      blocks,
      'database.ts',
    );
    const tables = await new DataSource({ ...databaseOptions, synchronize: true }).initialize();
    await tables.destroy();
    const { AppModule } = await load<{ AppModule: Type }>(blocks, 'app.module.ts');
    app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    const { OrderTimers } = await load<{ OrderTimers: Type<typeof timers> }>(
      blocks,
      'order-timers.ts',
    );
    timers = app.get(OrderTimers);
    delays = app.get(DelayService);
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
    blocks?.remove();
  });

  async function order(id: string): Promise<{ status: string; payDeadline: Date } | undefined> {
    const [row] = await app
      .get(DataSource)
      .query<{ status: string; payDeadline: Date }[]>('SELECT * FROM orders WHERE id = $1', [id]);
    return row;
  }

  it('an order that is not paid closes at its deadline, and the row shows that deadline', async () => {
    await timers.place(UNPAID);
    const waiting = await delays.find(close, UNPAID);
    expect(await order(UNPAID)).toMatchObject({ status: 'UNPAID', payDeadline: waiting?.dueAt });
    const closed = new Promise((resolve) => {
      app.get(DelayEvents).once('completed', resolve);
    });
    await delays.reschedule(close, UNPAID, { after: 0 });
    await closed;
    expect(await order(UNPAID)).toMatchObject({ status: 'CLOSED' });
    expect(await delays.history(close, UNPAID)).toMatchObject([{ state: 'completed' }]);
    await expect(timers.pay(UNPAID)).rejects.toThrow('cannot be paid');
  });

  it('a paid one has no delay any more', async () => {
    await timers.place(PAID);
    await timers.pay(PAID);
    expect(await order(PAID)).toMatchObject({ status: 'PAID' });
    expect(await delays.find(close, PAID)).toBeNull();
    expect(await delays.history(close, PAID)).toMatchObject([{ state: 'cancelled' }]);
  });
});

describe('the recipes', () => {
  let blocks: Unpacked;
  let database: TestDatabase;
  let node: DelayNode | undefined;

  beforeAll(async () => {
    blocks = unpack(readDocument('docs/recipes/recurring-work.md'));
    database = await createTestDatabase();
    const tables = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    await tables.query('CREATE TABLE report (region text, day timestamptz)');
    await tables.destroy();
  });

  afterAll(async () => {
    await node?.stop();
    await database?.drop();
    blocks?.remove();
  });

  it('recurring work runs at the first start, and waits for the next day as the same row', async () => {
    const daily = 'report.daily';
    const { DailyReport } = await load<{ DailyReport: Type }>(blocks, 'daily-report.ts');
    node = await startNode({ url: database.url, providers: [DailyReport] });
    const { delays } = node;
    await until(
      () => delays.history(daily, 'eu'),
      (ends) => ends.length > 0,
    );
    const [first] = await delays.history(daily, 'eu');
    const next = await delays.find(daily, 'eu');
    expect(first).toMatchObject({ state: 'superseded', attempts: 1 });
    expect(next).toMatchObject({ id: first?.id, state: 'scheduled', attempts: 0 });
    expect(Number(next?.dueAt) - Number(first?.dueAt)).toBe(DAY_MS);
    expect(await node.dataSource.query('SELECT day FROM report')).toEqual([{ day: first?.dueAt }]);
  });
});
