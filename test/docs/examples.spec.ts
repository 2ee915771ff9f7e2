import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DelayEvents, DelayService } from 'nestjs-delay-queue';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { readDocument } from './documents.js';
import { unpack, type Unpacked } from './unpacked.js';

const PAID = '11111111-1111-4111-8111-111111111111';
const UNPAID = '22222222-2222-4222-8222-222222222222';

/** What a block exports; `code-blocks.spec.ts` has its types checked. */
async function load<Exports>({ folder }: Unpacked, file: string): Promise<Exports> {
  const exports: Exports = await import(pathToFileURL(join(folder, file)).href);
  return exports;
}

describe('the example of getting started, run as it is', () => {
  const close = 'order.close';
  let blocks: Unpacked;
  let database: TestDatabase;
  let app: INestApplicationContext;
  let timers: { place(id: string): Promise<void>; pay(id: string): Promise<void> };
  let delays: DelayService;

  beforeAll(async () => {
    blocks = unpack(readDocument('docs/getting-started.md'));
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
