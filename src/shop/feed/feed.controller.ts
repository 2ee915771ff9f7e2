import { Controller, Get, Head, Header, Param, Res } from '@nestjs/common';
import {
  ApiExcludeEndpoint,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { problem } from '../http/problem.js';
import { OrderIdPipe } from '../orders/order-id.pipe.js';
import { shownJson } from '../shown.js';
import { FeedReader } from './feed.reader.js';
import { FeedService } from './feed.service.js';
import type { OrderCard } from './feed.js';
import { EVENT_STREAM } from './watcher.js';

@ApiTags('feed')
@Controller('feed')
export class FeedController {
  constructor(
    private readonly feed: FeedService,
    private readonly reader: FeedReader,
  ) {}

  /** Otherwise Express would run the stream for HEAD, and it never ends. */
  @Head()
  @ApiExcludeEndpoint()
  @Header('content-type', EVENT_STREAM)
  head(): void {}

  @Get()
  @ApiOperation({
    summary: 'What happens in the shop, as it happens',
    description:
      'Server-sent events: a `snapshot` at first, a `change` for what is different since, `trouble` ' +
      'while the database is away. `src/shop/feed/feed.ts` has their types.',
  })
  @ApiOkResponse({ description: 'An endless stream', content: { 'text/event-stream': {} } })
  watch(@Res() response: Response): void {
    this.feed.watch(response);
  }

  @Get('orders/:id')
  @ApiOperation({
    summary: 'An order as the feed shows it, also after it has left the feed',
  })
  @ApiOkResponse({ description: '`OrderCard` of `src/shop/feed/feed.ts`' })
  @ApiNotFoundResponse({ standardSchema: problem })
  async order(@Param('id', OrderIdPipe) id: string): Promise<OrderCard> {
    return JSON.parse(shownJson(await this.reader.order(id))) as OrderCard;
  }
}
