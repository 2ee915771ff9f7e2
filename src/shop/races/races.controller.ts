import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { startedRace, type StartedRace } from './races.schemas.js';
import { RacesService } from './races.service.js';

@ApiTags('races')
@Controller('races')
export class RacesController {
  constructor(private readonly races: RacesService) {}

  @Post('pay-at-the-last-moment')
  @HttpCode(202)
  @ApiOperation({ summary: 'An order whose payment arrives milliseconds before its deadline' })
  @ApiAcceptedResponse({ standardSchema: startedRace })
  lastMoment(): Promise<StartedRace> {
    return this.races.start('pay-at-the-last-moment');
  }

  @Post('pay-after-the-close')
  @HttpCode(202)
  @ApiOperation({ summary: 'An order whose payment arrives when it is closed: refunded' })
  @ApiAcceptedResponse({ standardSchema: startedRace })
  afterTheClose(): Promise<StartedRace> {
    return this.races.start('pay-after-the-close');
  }

  @Post('close-while-paid')
  @HttpCode(202)
  @ApiOperation({
    summary: 'An order whose close comes due while its payment waits for a slow provider',
  })
  @ApiAcceptedResponse({ standardSchema: startedRace })
  whilePaid(): Promise<StartedRace> {
    return this.races.start('close-while-paid');
  }
}
