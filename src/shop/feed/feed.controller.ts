import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { FeedService } from './feed.service.js';

@ApiTags('feed')
@Controller('feed')
export class FeedController {
  constructor(private readonly feed: FeedService) {}

  @Get()
  @ApiOperation({
    summary: 'What happens in the shop, as it happens',
    description:
      'Server-sent events: a `snapshot` at first, a `change` for what is different since, `trouble` ' +
      'while the database is away. `src/shop/feed/feed.ts` has their types.',
  })
  @ApiOkResponse({ description: 'A stream without an end', content: { 'text/event-stream': {} } })
  watch(@Res() response: Response): void {
    this.feed.watch(response);
  }
}
