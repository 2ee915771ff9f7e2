import { Body, Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiConflictResponse,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import { PaymentListService } from './payment-list.service.js';
import {
  paymentDetails,
  paymentPage,
  paymentReceipt,
  paymentReport,
  paymentsQuery,
  type PaymentDetails,
  type PaymentPage,
  type PaymentReceipt,
  type PaymentReport,
  type PaymentsQuery,
} from './payments.schemas.js';
import { PaymentsService } from './payments.service.js';
import { ProviderTokenGuard } from './provider-token.guard.js';
import { RefundsService } from './refunds.service.js';

@ApiTags('payments')
@Controller('payments')
export class PaymentsController {
  constructor(
    private readonly payments: PaymentsService,
    private readonly refunds: RefundsService,
    private readonly lists: PaymentListService,
  ) {}

  @Post('callback')
  @UseGuards(ProviderTokenGuard)
  @HttpCode(200)
  @ApiOperation({
    summary: 'A provider reports a captured payment',
    description:
      'Always 200 for a well-formed report, also when it is late, repeated, of another amount ' +
      'or for an unknown order: a payment that cannot be kept is recorded and refunded. A known ' +
      'transaction for another order or amount is a `conflict`, and moves no money.',
  })
  @ApiBearerAuth()
  @ApiOkResponse({ standardSchema: paymentReceipt })
  @ApiUnauthorizedResponse({
    standardSchema: problem,
    description: "Not the provider's token",
  })
  @ApiForbiddenResponse({ standardSchema: problem, description: 'This shop has no provider' })
  @ApiBadRequestResponse({ standardSchema: problem })
  callback(@Body({ schema: paymentReport }) report: PaymentReport): Promise<PaymentReceipt> {
    return this.payments.record(report);
  }

  @Get()
  @ApiOperation({
    summary: 'Captured payments, newest first',
    description: 'Including those for orders that the shop does not know.',
  })
  @ApiOkResponse({ standardSchema: paymentPage })
  @ApiBadRequestResponse({ standardSchema: problem })
  list(@Query({ schema: paymentsQuery }) query: PaymentsQuery): Promise<PaymentPage> {
    return this.lists.list(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'A payment, and what became of its refund' })
  @ApiOkResponse({ standardSchema: paymentDetails })
  @ApiNotFoundResponse({ standardSchema: problem })
  show(@Param('id') id: string): Promise<PaymentDetails> {
    return this.refunds.show(id);
  }

  @Post(':id/refund')
  @HttpCode(200)
  @ApiOperation({ summary: 'Retry a refund now that waits or was given up' })
  @ApiOkResponse({ standardSchema: paymentDetails })
  @ApiNotFoundResponse({ standardSchema: problem })
  @ApiConflictResponse({ standardSchema: problem, description: 'It is kept for its order' })
  refund(@Param('id') id: string): Promise<PaymentDetails> {
    return this.refunds.retry(id);
  }
}
