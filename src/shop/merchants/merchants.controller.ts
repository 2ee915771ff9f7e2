import { Body, Controller, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import {
  changeMerchant,
  merchantList,
  merchantView,
  type ChangeMerchant,
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
    summary: 'Change how long something takes, or where the merchant is',
    description:
      'For orders that are placed from now on: no deadline of an order that exists moves. What is ' +
      'left out stays as it is, `null` takes the default of the shop again.',
  })
  @ApiOkResponse({ standardSchema: merchantView })
  @ApiBadRequestResponse({ standardSchema: problem })
  @ApiNotFoundResponse({ standardSchema: problem })
  change(
    @Param('id') id: string,
    @Body({ schema: changeMerchant }) change: ChangeMerchant,
  ): Promise<MerchantView> {
    return this.merchants.change(id, change);
  }

  @Post(':id/remind')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Remind now, not only at nine, of the orders that wait to be shipped',
    description:
      'All merchants in the time zone of this one. The next morning they are reminded as always.',
  })
  @ApiOkResponse({ standardSchema: merchantView })
  @ApiNotFoundResponse({ standardSchema: problem })
  remind(@Param('id') id: string): Promise<MerchantView> {
    return this.merchants.remind(id);
  }
}
