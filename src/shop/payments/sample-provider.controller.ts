import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import {
  providerMood,
  providerView,
  type ProviderMood,
  type ProviderView,
} from './sample-provider.schemas.js';
import { SampleProvider } from './sample-provider.js';

@ApiTags('sample provider')
@Controller('sample-provider')
export class SampleProviderController {
  constructor(private readonly provider: SampleProvider) {}

  @Get()
  @ApiOperation({ summary: 'Whether the sample payment provider makes refunds' })
  @ApiOkResponse({ standardSchema: providerView })
  show(): Promise<ProviderView> {
    return this.provider.show();
  }

  @Put()
  @ApiOperation({ summary: 'Make it fail, for a while or for good, or work again' })
  @ApiOkResponse({ standardSchema: providerView })
  @ApiBadRequestResponse({ standardSchema: problem })
  take(@Body({ schema: providerMood }) mood: ProviderMood): Promise<ProviderView> {
    return this.provider.take(mood);
  }
}
