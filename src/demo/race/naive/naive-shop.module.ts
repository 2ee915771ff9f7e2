import { Module, StandardSchemaValidationPipe, type DynamicModule } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { databaseOptions } from '../../../app.module.js';
import { CatalogController } from '../../../shop/catalog/catalog.controller.js';
import { InvariantsController } from '../../../shop/invariants/invariants.controller.js';
import { InvariantsService } from '../../../shop/invariants/invariants.service.js';
import { SHOP_CONFIG } from '../../../shop/shop.config.js';
import type { ProcessOrder } from '../protocol.js';
import { NaiveOrdersController } from './naive-orders.controller.js';
import { CLOSED, NaiveOrders, NAIVE_ORDER } from './naive-orders.js';
import { OverdueScan } from './overdue-scan.js';

/**
 * What many shops do, on the same tables and the same Postgres: the state is read by one statement
 * and written by the next, and the time to pay is a timer in memory, or a scan.
 */
@Module({ controllers: [CatalogController, InvariantsController, NaiveOrdersController] })
export class NaiveShopModule {
  static forRoot(order: ProcessOrder, closed: (orderId: string) => void): DynamicModule {
    return {
      module: NaiveShopModule,
      imports: [TypeOrmModule.forRoot({ ...databaseOptions(order.databaseUrl), retryAttempts: 1 })],
      providers: [
        { provide: APP_PIPE, useClass: StandardSchemaValidationPipe },
        { provide: SHOP_CONFIG, useValue: { demo: true } },
        { provide: NAIVE_ORDER, useValue: order },
        { provide: CLOSED, useValue: closed },
        InvariantsService,
        NaiveOrders,
        OverdueScan,
      ],
    };
  }
}
