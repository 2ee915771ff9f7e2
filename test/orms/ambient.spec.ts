import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterPrisma } from '@nestjs-cls/transactional-adapter-prisma';
import { DelayQueueModule, DelayService, runMigrations } from 'nestjs-delay-queue';
import { fromPrisma } from 'nestjs-delay-queue/adapters';
import { ClsModule } from 'nestjs-cls';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { PrismaService } from './prisma.service.js';

/** `@Transactional()` of nestjs-cls on Prisma: calls that name no transaction join the surrounding one. */

type Host = TransactionHost<TransactionalAdapterPrisma<PrismaService>>;

@Injectable()
class Orders {
  constructor(
    private readonly host: TransactionHost<TransactionalAdapterPrisma<PrismaService>>,
    private readonly delays: DelayService,
  ) {}

  @Transactional()
  async place(id: number, why?: Error): Promise<void> {
    await this.host.tx.purchases.create({ data: { id } });
    await this.delays.schedule('order.close', { orderId: id }, { after: '30m', key: String(id) });
    if (why) throw why;
  }
}

@Module({ providers: [PrismaService], exports: [PrismaService] })
class PrismaModule {}

let database: TestDatabase;
let app: INestApplicationContext;

beforeAll(async () => {
  database = await createEmptyDatabase();
  process.env['DATABASE_URL'] = database.url;
  await runMigrations(database.url);
  @Module({
    imports: [
      PrismaModule,
      ClsModule.forRoot({
        global: true,
        plugins: [
          new ClsPluginTransactional({
            imports: [PrismaModule],
            adapter: new TransactionalAdapterPrisma({ prismaInjectionToken: PrismaService }),
          }),
        ],
      }),
      DelayQueueModule.forRootAsync({
        inject: [TransactionHost],
        useFactory: (host: Host) => ({
          connection: database.url,
          worker: false,
          resolveManager: () => (host.isTransactionActive() ? fromPrisma(host.tx) : undefined),
        }),
      }),
    ],
    providers: [Orders],
  })
  class App {}
  app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  await app
    .get(PrismaService)
    .$executeRawUnsafe(`CREATE TABLE purchases (id int PRIMARY KEY, status text DEFAULT 'UNPAID')`);
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

it('commits with the surrounding transaction, rolls back with it, and does without one', async () => {
  const orders = app.get(Orders);
  const delays = app.get(DelayService);
  await orders.place(1);
  await expect(orders.place(2, new Error('no'))).rejects.toThrow('no');
  await delays.schedule('order.close', { orderId: 3 }, { after: '30m', key: '3' });
  const found = await Promise.all(['1', '2', '3'].map((key) => delays.find('order.close', key)));
  expect(found.map((delay) => delay?.key)).toEqual(['1', undefined, '3']);
});
