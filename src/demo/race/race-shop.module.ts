import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { databaseOptions } from '../../app.module.js';
import { ShopModule } from '../../shop/shop.module.js';
import type { ProcessOrder } from './protocol.js';

const HOUR_MS = 3_600_000;

/** The shop with a short lease: the race waits for what a dead process had claimed. */
@Module({})
export class RaceShopModule {
  static forRoot({ name, databaseUrl, payWithinMs, leaseMs }: ProcessOrder): DynamicModule {
    const shop = {
      databaseUrl,
      payWithinMs,
      remindBeforeMs: null,
      smsAfterMs: null,
      confirmAfterMs: HOUR_MS,
      rateAfterMs: HOUR_MS,
      demo: true,
    };
    return {
      module: RaceShopModule,
      imports: [
        TypeOrmModule.forRoot({ ...databaseOptions(databaseUrl), retryAttempts: 1 }),
        ScheduleModule.forRoot(),
        // The lease of a transactional attempt is the larger of the two.
        DelayQueueModule.forRoot({ nodeName: name, lease: leaseMs, timeout: leaseMs }),
        ShopModule.forRoot(shop),
      ],
    };
  }
}
