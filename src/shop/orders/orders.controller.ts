import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiHeader,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import { reviewOrder, type ReviewOrderRequest } from '../reviews/reviews.schemas.js';
import { ReviewsService } from '../reviews/reviews.service.js';
import { IdempotencyKey } from './idempotency-key.decorator.js';
import { OrderAction } from './order-action.decorator.js';
import { OrderIdPipe } from './order-id.pipe.js';
import { OrderListService } from './order-list.service.js';
import { OrderViewService } from './order-view.service.js';
import {
  orderPage,
  ordersQuery,
  orderView,
  placedOrder,
  placeOrder,
  type OrderPage,
  type OrdersQuery,
  type OrderView,
  type PlacedOrder,
  type PlaceOrderRequest,
} from './orders.schemas.js';
import { OrdersService } from './orders.service.js';
import { PlaceOrderService } from './place-order.service.js';

@ApiTags('orders')
@Controller('orders')
export class OrdersController {
  constructor(
    private readonly placing: PlaceOrderService,
    private readonly orders: OrdersService,
    private readonly lists: OrderListService,
    private readonly reviews: ReviewsService,
    private readonly views: OrderViewService,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Place an order: takes the stock and starts the time to pay' })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'The same key with the same items returns the first order',
  })
  @ApiCreatedResponse({ standardSchema: placedOrder })
  @ApiBadRequestResponse({ standardSchema: problem })
  @ApiConflictResponse({ standardSchema: problem, description: 'Out of stock; `sku` says of what' })
  @ApiUnprocessableEntityResponse({ standardSchema: problem, description: 'A key used twice' })
  place(
    @Body({ schema: placeOrder }) request: PlaceOrderRequest,
    @IdempotencyKey() key?: string,
  ): Promise<PlacedOrder> {
    return this.placing.place(request, key);
  }

  @Get()
  @ApiOperation({ summary: 'Orders, newest first' })
  @ApiOkResponse({ standardSchema: orderPage })
  @ApiBadRequestResponse({ standardSchema: problem })
  list(@Query({ schema: ordersQuery }) query: OrdersQuery): Promise<OrderPage> {
    return this.lists.list(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'An order, what happened to it and what is still to happen' })
  @ApiOkResponse({ standardSchema: orderView })
  @ApiNotFoundResponse({ standardSchema: problem })
  show(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    return this.views.show(id);
  }

  @OrderAction('cancel', 'The buyer changes their mind before paying')
  async cancel(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    await this.orders.cancel(id);
    return this.views.show(id);
  }

  @OrderAction('ship', 'The seller sends it; the time to confirm starts')
  async ship(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    await this.orders.ship(id);
    return this.views.show(id);
  }

  @OrderAction('confirm', 'The buyer has received it; the time to rate starts')
  async confirm(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    await this.orders.confirm(id);
    return this.views.show(id);
  }

  @OrderAction('extend', 'The buyer is still waiting: more time to confirm, once')
  async extend(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    await this.orders.extend(id);
    return this.views.show(id);
  }

  @OrderAction('review', 'The buyer rates a completed order')
  @ApiBadRequestResponse({ standardSchema: problem })
  async review(
    @Param('id', OrderIdPipe) id: string,
    @Body({ schema: reviewOrder }) { stars }: ReviewOrderRequest,
  ): Promise<OrderView> {
    await this.reviews.review(id, stars);
    return this.views.show(id);
  }
}
