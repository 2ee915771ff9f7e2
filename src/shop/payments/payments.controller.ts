import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import {
  paymentReceipt,
  paymentReport,
  type PaymentReceipt,
  type PaymentReport,
} from './payments.schemas.js';
import { PaymentsService } from './payments.service.js';

@ApiTags('payments')
@Controller('payments')
export class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  @Post('callback')
  @HttpCode(200)
  @ApiOperation({
    summary: 'A provider reports money that it has taken',
    description:
      'Always 200 for a well-formed report, also when it is late, repeated, of another amount ' +
      'or for an unknown order: money that cannot be kept is written down and refunded.',
  })
  @ApiOkResponse({ standardSchema: paymentReceipt })
  @ApiBadRequestResponse({ standardSchema: problem })
  callback(@Body({ schema: paymentReport }) report: PaymentReport): Promise<PaymentReceipt> {
    return this.payments.record(report);
  }
}
