import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import type { DataSourceOptions } from 'typeorm';
import { migrations } from '../migrations/index.js';
import { OneProcess, type Processes } from './shop/processes/processes.js';
import type { ShopConfig } from './shop/shop.config.js';
import { shopEntities } from './shop/shop.entities.js';
import { ShopModule } from './shop/shop.module.js';

/**
 * Connections of each process. A request that waits for the pool holds nothing; one that waits in
 * Postgres holds a connection, and row locks that block others. With 20 connections, 100 orders/s
 * on two cores locked each other up for seconds: timers were 318 ms late (p99) instead of 49.
 */
const POOL_SIZE = 10;

/** How long a request waits for a connection before it is answered 503. */
const CONNECT_WITHIN_MS = 5_000;

/** The shop's database: entities of the shop, migrations of the shop and of the library. */
export const databaseOptions = (url: string): DataSourceOptions => ({
  type: 'postgres',
  url,
  applicationName: 'shop',
  poolSize: POOL_SIZE,
  connectTimeoutMS: CONNECT_WITHIN_MS,
  // Detects a peer that is gone silently.
  extra: { keepAlive: true, keepAliveInitialDelayMillis: 10_000 },
  entities: shopEntities,
  migrations,
  synchronize: false,
});

@Module({})
export class AppModule {
  static forRoot(config: ShopConfig, processes: Processes = new OneProcess()): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot({ ...databaseOptions(config.databaseUrl), retryAttempts: 1 }),
        ScheduleModule.forRoot(),
        DelayQueueModule.forRoot({ nodeName: processes.self }),
        ...(config.demo ? [DelayQueueDashboardModule.forRoot({ authorize: 'loopback' })] : []),
        ShopModule.forRoot(config, processes),
      ],
    };
  }
}
