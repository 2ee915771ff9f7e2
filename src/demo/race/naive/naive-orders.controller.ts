import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import {
  placeOrder,
  type PlacedOrder,
  type PlaceOrderRequest,
} from '../../../shop/orders/orders.schemas.js';
import {
  paymentReport,
  type PaymentReceipt,
  type PaymentReport,
} from '../../../shop/payments/payments.schemas.js';
import { NaiveOrders } from './naive-orders.js';

/** The two routes of the shop that the race uses, with the same bodies and answers. */
@Controller()
export class NaiveOrdersController {
  constructor(private readonly orders: NaiveOrders) {}

  @Post('orders')
  place(@Body({ schema: placeOrder }) request: PlaceOrderRequest): Promise<PlacedOrder> {
    return this.orders.place(request);
  }

  @Post('payments/callback')
  @HttpCode(200)
  pay(@Body({ schema: paymentReport }) report: PaymentReport): Promise<PaymentReceipt> {
    return this.orders.pay(report);
  }
}
