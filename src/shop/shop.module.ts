import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { CampaignBatches } from './campaigns/campaign-batches.js';
import { CampaignsController } from './campaigns/campaigns.controller.js';
import { CampaignsService } from './campaigns/campaigns.service.js';
import { SendCampaignHandler } from './campaigns/send-campaign.handler.js';
import { CatalogController } from './catalog/catalog.controller.js';
import { DisputesController } from './disputes/disputes.controller.js';
import { DisputesService } from './disputes/disputes.service.js';
import { AnswerInTime } from './http/answer-in-time.js';
import { Connections } from './http/connections.js';
import { validationPipe } from './http/invalid-request.js';
import { ProblemFilter } from './http/problem.filter.js';
import { FeedController } from './feed/feed.controller.js';
import { FeedReader } from './feed/feed.reader.js';
import { FeedService } from './feed/feed.service.js';
import { NewsService } from './feed/news.service.js';
import { InvariantsController } from './invariants/invariants.controller.js';
import { InvariantsService } from './invariants/invariants.service.js';
import { InvariantsWatch } from './invariants/invariants.watch.js';
import { MerchantsController } from './merchants/merchants.controller.js';
import { MerchantsService } from './merchants/merchants.service.js';
import { RemindMerchantsHandler } from './merchants/remind-merchants.handler.js';
import { CloseOrderHandler } from './orders/close-order.handler.js';
import { ConfirmOrderHandler } from './orders/confirm-order.handler.js';
import { OrderListService } from './orders/order-list.service.js';
import { OrderMoves } from './orders/order-moves.service.js';
import { OrderViewService } from './orders/order-view.service.js';
import { OrdersController } from './orders/orders.controller.js';
import { OrdersService } from './orders/orders.service.js';
import { PlaceOrderService } from './orders/place-order.service.js';
import { TellBuyerHandler } from './orders/tell-buyer.handler.js';
import { MessageProvider, NoMessages } from './outbox/message-provider.js';
import { MessagesController } from './outbox/messages.controller.js';
import { MessagesService } from './outbox/messages.service.js';
import { Outbox } from './outbox/outbox.js';
import { SampleMessages } from './outbox/sample-messages.js';
import { SendMessageHandler } from './outbox/send-message.handler.js';
import { WebhookMessages } from './outbox/webhook-messages.js';
import { NoRefunds, PaymentProvider, WebhookRefunds } from './payments/payment-provider.js';
import { PaymentListService } from './payments/payment-list.service.js';
import { PaymentsController } from './payments/payments.controller.js';
import { PaymentsService } from './payments/payments.service.js';
import { RefundPaymentHandler } from './payments/refund-payment.handler.js';
import { RefundsService } from './payments/refunds.service.js';
import { SamplePaymentsController } from './payments/sample-payments.controller.js';
import { SamplePaymentsService } from './payments/sample-payments.service.js';
import { SampleProviderController } from './payments/sample-provider.controller.js';
import { SampleProvider } from './payments/sample-provider.js';
import { ProcessesController } from './processes/processes.controller.js';
import { OneProcess, Processes } from './processes/processes.js';
import { PayInRaceHandler } from './races/pay-in-race.handler.js';
import { RacesController } from './races/races.controller.js';
import { RacesService } from './races/races.service.js';
import { ReconcilerService } from './reconciler/reconciler.service.js';
import { RateOrderHandler } from './reviews/rate-order.handler.js';
import { ReviewsService } from './reviews/reviews.service.js';
import { SiteController } from './site/site.controller.js';
import { SHOP_CONFIG, type ShopConfig } from './shop.config.js';
import { Webhook } from './webhook.js';

const handlers = [
  CloseOrderHandler,
  ConfirmOrderHandler,
  RateOrderHandler,
  RefundPaymentHandler,
  RemindMerchantsHandler,
  SendCampaignHandler,
  SendMessageHandler,
  TellBuyerHandler,
];

const services = [
  CampaignBatches,
  CampaignsService,
  Connections,
  DisputesService,
  FeedReader,
  FeedService,
  InvariantsService,
  InvariantsWatch,
  MerchantsService,
  MessagesService,
  OrderListService,
  NewsService,
  OrderMoves,
  OrdersService,
  OrderViewService,
  Outbox,
  PaymentListService,
  PaymentsService,
  PlaceOrderService,
  ReconcilerService,
  RefundsService,
  ReviewsService,
];

/** For visitors of the demo only. */
const DEMO = {
  controllers: [
    ProcessesController,
    RacesController,
    SamplePaymentsController,
    SampleProviderController,
  ],
  providers: [PayInRaceHandler, RacesService, SamplePaymentsService, SampleProvider],
};

/** The sample providers belong to the demo, too. */
function outsideProviders({
  demo,
  messagesUrl,
  refundsUrl,
  webhookTimeoutMs = 5_000,
}: ShopConfig): Provider[] {
  const messages = messagesUrl && new WebhookMessages(new Webhook(messagesUrl, webhookTimeoutMs));
  const refunds = refundsUrl && new WebhookRefunds(new Webhook(refundsUrl, webhookTimeoutMs));
  return [
    demo && !messages
      ? { provide: MessageProvider, useClass: SampleMessages }
      : { provide: MessageProvider, useValue: messages || new NoMessages() },
    demo && !refunds
      ? { provide: PaymentProvider, useExisting: SampleProvider }
      : { provide: PaymentProvider, useValue: refunds || new NoRefunds() },
  ];
}

@Module({
  controllers: [
    CampaignsController,
    CatalogController,
    DisputesController,
    FeedController,
    InvariantsController,
    MerchantsController,
    MessagesController,
    OrdersController,
    PaymentsController,
    SiteController,
  ],
})
export class ShopModule {
  static forRoot(config: ShopConfig, processes: Processes = new OneProcess()): DynamicModule {
    return {
      module: ShopModule,
      controllers: config.demo ? DEMO.controllers : [],
      providers: [
        { provide: SHOP_CONFIG, useValue: config },
        { provide: APP_PIPE, useFactory: validationPipe },
        { provide: APP_FILTER, useClass: ProblemFilter },
        { provide: APP_INTERCEPTOR, useClass: AnswerInTime },
        { provide: Processes, useValue: processes },
        ...outsideProviders(config),
        ...services,
        ...handlers,
        ...(config.demo ? DEMO.providers : []),
      ],
    };
  }
}
