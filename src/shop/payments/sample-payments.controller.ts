import { Controller, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { OrderAction } from '../orders/order-action.decorator.js';
import { OrderIdPipe } from '../orders/order-id.pipe.js';
import { OrderViewService } from '../orders/order-view.service.js';
import type { OrderView } from '../orders/orders.schemas.js';
import { SamplePaymentsService } from './sample-payments.service.js';

@ApiTags('orders')
@Controller('orders')
export class SamplePaymentsController {
  constructor(
    private readonly payments: SamplePaymentsService,
    private readonly views: OrderViewService,
  ) {}

  @OrderAction('pay', "Pay with the sample's own provider, before the deadline")
  async pay(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    await this.payments.pay(id);
    return this.views.show(id);
  }
}
