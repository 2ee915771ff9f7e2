import { Controller, Get, Query } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import {
  messageList,
  messagesQuery,
  type MessagesQuery,
  type MessageView,
} from './messages.schemas.js';
import { MessagesService } from './messages.service.js';

@ApiTags('messages')
@Controller('messages')
export class MessagesController {
  constructor(private readonly messages: MessagesService) {}

  @Get()
  @ApiOperation({ summary: 'What buyers were told, newest first, 100 at a time' })
  @ApiOkResponse({ standardSchema: messageList })
  @ApiBadRequestResponse({ standardSchema: problem })
  list(@Query({ schema: messagesQuery }) query: MessagesQuery): Promise<MessageView[]> {
    return this.messages.list(query);
  }
}
