import { Body, Controller, Get, Param, Patch } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import {
  changeTerms,
  merchantList,
  merchantView,
  type ChangeTerms,
  type MerchantView,
} from './merchants.schemas.js';
import { MerchantsService } from './merchants.service.js';

@ApiTags('merchants')
@Controller('merchants')
export class MerchantsController {
  constructor(private readonly merchants: MerchantsService) {}

  @Get()
  @ApiOperation({ summary: 'Who sells, and how long everything takes with them' })
  @ApiOkResponse({ standardSchema: merchantList })
  list(): Promise<MerchantView[]> {
    return this.merchants.list();
  }

  @Patch(':id')
  @ApiOperation({
    summary: 'Change how long something takes',
    description:
      'For orders that are placed from now on: no deadline of an order that exists moves. What is ' +
      'left out stays as it is, `null` takes the default of the shop again.',
  })
  @ApiOkResponse({ standardSchema: merchantView })
  @ApiBadRequestResponse({ standardSchema: problem })
  @ApiNotFoundResponse({ standardSchema: problem })
  change(
    @Param('id') id: string,
    @Body({ schema: changeTerms }) change: ChangeTerms,
  ): Promise<MerchantView> {
    return this.merchants.change(id, change);
  }
}
