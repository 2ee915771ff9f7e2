import { Module, StandardSchemaValidationPipe, type DynamicModule } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { CatalogController } from './catalog/catalog.controller.js';
import { InvariantsController } from './invariants/invariants.controller.js';
import { InvariantsService } from './invariants/invariants.service.js';
import { CloseOrderHandler } from './orders/close-order.handler.js';
import { ConfirmOrderHandler } from './orders/confirm-order.handler.js';
import { OrderViewService } from './orders/order-view.service.js';
import { OrdersController } from './orders/orders.controller.js';
import { OrdersService } from './orders/orders.service.js';
import { PlaceOrderService } from './orders/place-order.service.js';
import { PaymentsController } from './payments/payments.controller.js';
import { PaymentsService } from './payments/payments.service.js';
import { RefundPaymentHandler } from './payments/refund-payment.handler.js';
import { SampleProvider } from './payments/sample-provider.js';
import { ReconcilerService } from './reconciler/reconciler.service.js';
import { RateOrderHandler } from './reviews/rate-order.handler.js';
import { ReviewsService } from './reviews/reviews.service.js';
import { SHOP_CONFIG, type ShopConfig } from './shop.config.js';

const handlers = [CloseOrderHandler, ConfirmOrderHandler, RateOrderHandler, RefundPaymentHandler];

const services = [
  InvariantsService,
  OrdersService,
  OrderViewService,
  PaymentsService,
  PlaceOrderService,
  ReconcilerService,
  ReviewsService,
  SampleProvider,
];

@Module({
  controllers: [CatalogController, InvariantsController, OrdersController, PaymentsController],
})
export class ShopModule {
  static forRoot(config: ShopConfig): DynamicModule {
    return {
      module: ShopModule,
      providers: [
        { provide: SHOP_CONFIG, useValue: config },
        { provide: APP_PIPE, useClass: StandardSchemaValidationPipe },
        ...services,
        ...handlers,
      ],
    };
  }
}
