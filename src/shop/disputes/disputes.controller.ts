import { Body, Controller, Param } from '@nestjs/common';
import { ApiBadRequestResponse, ApiTags } from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import { OrderAction } from '../orders/order-action.decorator.js';
import { OrderIdPipe } from '../orders/order-id.pipe.js';
import { OrderViewService } from '../orders/order-view.service.js';
import type { OrderView } from '../orders/orders.schemas.js';
import { openDispute, type OpenDispute } from './disputes.schemas.js';
import { DisputesService } from './disputes.service.js';

@ApiTags('disputes')
@Controller('orders')
export class DisputesController {
  constructor(
    private readonly disputes: DisputesService,
    private readonly views: OrderViewService,
  ) {}

  @OrderAction('dispute', 'The buyer complains: the timers of the order are frozen')
  @ApiBadRequestResponse({ standardSchema: problem })
  async open(
    @Param('id', OrderIdPipe) id: string,
    @Body({ schema: openDispute }) { reason }: OpenDispute,
  ): Promise<OrderView> {
    await this.disputes.open(id, reason);
    return this.views.show(id);
  }

  @OrderAction('release', 'The dispute is over: its timers go on with the time that was left')
  async release(@Param('id', OrderIdPipe) id: string): Promise<OrderView> {
    await this.disputes.release(id);
    return this.views.show(id);
  }
}
