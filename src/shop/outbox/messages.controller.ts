import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import {
  messageList,
  messagesQuery,
  messageView,
  type MessagesQuery,
  type MessageView,
} from './messages.schemas.js';
import { MessagesService } from './messages.service.js';

@ApiTags('messages')
@Controller('messages')
export class MessagesController {
  constructor(private readonly messages: MessagesService) {}

  @Get()
  @ApiOperation({ summary: 'Messages to buyers, newest first, 100 at a time' })
  @ApiOkResponse({ standardSchema: messageList })
  @ApiBadRequestResponse({ standardSchema: problem })
  list(@Query({ schema: messagesQuery }) query: MessagesQuery): Promise<MessageView[]> {
    return this.messages.list(query);
  }

  @Post(':id/send')
  @HttpCode(200)
  @ApiOperation({ summary: 'Retry a message now that waits or was given up' })
  @ApiParam({ name: 'id', example: '1' })
  @ApiOkResponse({ standardSchema: messageView })
  @ApiNotFoundResponse({ standardSchema: problem })
  send(@Param('id') id: string): Promise<MessageView> {
    return this.messages.retry(id);
  }
}
