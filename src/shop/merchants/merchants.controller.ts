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
  @ApiOperation({ summary: 'The merchants and their terms' })
  @ApiOkResponse({ standardSchema: merchantList })
  list(): Promise<MerchantView[]> {
    return this.merchants.list();
  }

  @Patch(':id')
  @ApiOperation({
    summary: 'Change the durations or the time zone of a merchant',
    description:
      'For orders that are placed from now on: no deadline of an existing order moves. An omitted ' +
      'field stays as it is; `null` restores the default of the shop.',
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
      'All merchants in the time zone of this one. The next morning they are reminded as usual.',
  })
  @ApiOkResponse({ standardSchema: merchantView })
  @ApiNotFoundResponse({ standardSchema: problem })
  remind(@Param('id') id: string): Promise<MerchantView> {
    return this.merchants.remind(id);
  }
}
