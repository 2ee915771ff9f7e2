import {
  applyDecorators,
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiHeader,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import { IdempotencyKey } from '../orders/idempotency-key.decorator.js';
import {
  campaignList,
  campaignsQuery,
  campaignView,
  createCampaign,
  type CampaignsQuery,
  type CampaignView,
  type CreateCampaign,
} from './campaigns.schemas.js';
import { CampaignsService } from './campaigns.service.js';

const AnswersCampaign = (): MethodDecorator =>
  applyDecorators(
    ApiParam({ name: 'id', example: '1' }),
    ApiOkResponse({ standardSchema: campaignView }),
    ApiNotFoundResponse({ standardSchema: problem, description: 'No such campaign' }),
  );

@ApiTags('campaigns')
@Controller('campaigns')
export class CampaignsController {
  constructor(private readonly campaigns: CampaignsService) {}

  @Post()
  @ApiOperation({
    summary: 'A text message to many recipients, from a set time on',
    description:
      'Sent in batches at the pace of its merchant, which all of its campaigns share. Each recipient gets it once, whatever crashes, if ' +
      'the provider deduplicates by message id; otherwise recipients of one batch may get it twice ' +
      'after a crash between sending and recording that.',
  })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'The same key with the same campaign returns the first campaign',
  })
  @ApiCreatedResponse({ standardSchema: campaignView })
  @ApiBadRequestResponse({ standardSchema: problem })
  @ApiUnprocessableEntityResponse({ standardSchema: problem, description: 'A key used twice' })
  create(
    @Body({ schema: createCampaign }) request: CreateCampaign,
    @IdempotencyKey() key?: string,
  ): Promise<CampaignView> {
    return this.campaigns.create(request, key);
  }

  @Get()
  @ApiOperation({ summary: 'Campaigns and their progress, newest first, 20 at a time' })
  @ApiOkResponse({ standardSchema: campaignList })
  @ApiBadRequestResponse({ standardSchema: problem })
  list(@Query({ schema: campaignsQuery }) query: CampaignsQuery): Promise<CampaignView[]> {
    return this.campaigns.list(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'A campaign and its progress' })
  @AnswersCampaign()
  show(@Param('id') id: string): Promise<CampaignView> {
    return this.campaigns.show(id);
  }

  @Post(':id/stop')
  @HttpCode(200)
  @ApiOperation({ summary: 'Stop sending, and cut the batch in progress' })
  @AnswersCampaign()
  @ApiConflictResponse({ standardSchema: problem, description: 'It is completed' })
  stop(@Param('id') id: string): Promise<CampaignView> {
    return this.campaigns.stop(id);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Continue with the remaining recipients; a running campaign stays as it is',
  })
  @AnswersCampaign()
  resume(@Param('id') id: string): Promise<CampaignView> {
    return this.campaigns.resume(id);
  }
}
