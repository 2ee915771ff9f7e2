import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { shopEntities } from '../../../src/shop/shop.entities.js';
import { ShopModule } from '../../../src/shop/shop.module.js';
import { POOL_MAX, type ProcessSetup, QUEUE } from './process.protocol.js';

@Module({})
class ChaosApp {}

/** Deadlines that a buyer can miss by a second. */
export const SHOP = {
  payWithinMs: 3_000,
  remindBeforeMs: 1_000,
  smsAfterMs: 500,
  confirmAfterMs: 2_000,
  rateAfterMs: 2_000,
  demo: true,
};

/** Library and shop as an application has them, with times short enough for a run of a minute. */
export function chaosApp({ url, role, nodeName }: ProcessSetup, handlers: Type[]): DynamicModule {
  return {
    module: ChaosApp,
    imports: [
      TypeOrmModule.forRoot({
        type: 'postgres',
        url,
        applicationName: 'chaos app',
        entities: shopEntities,
        retryAttempts: 0,
        extra: {
          max: POOL_MAX,
          connectionTimeoutMillis: 5_000,
          // A producer's call that nobody answers ends; a handler's is ended by the engine.
          ...(role === 'producer' && { query_timeout: 10_000 }),
        },
      }),
      DelayQueueModule.forRoot({ ...QUEUE, worker: role === 'worker', nodeName }),
      ShopModule.forRoot({ ...SHOP, databaseUrl: url }),
    ],
    providers: handlers,
  };
}
