import { applyDecorators, HttpCode, Post } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
} from '@nestjs/swagger';
import { problem } from '../http/problem.js';
import { orderView } from './orders.schemas.js';

/**
 * `POST /orders/:id/<action>`: 200 with the order, also when repeated after success; 404 or 409.
 */
export const OrderAction = (action: string, summary: string): MethodDecorator =>
  applyDecorators(
    Post(`:id/${action}`),
    HttpCode(200),
    ApiOperation({ summary }),
    ApiOkResponse({ standardSchema: orderView, description: 'The order; done now, or before' }),
    ApiNotFoundResponse({ standardSchema: problem, description: 'No such order' }),
    ApiConflictResponse({ standardSchema: problem, description: 'Not in its present state' }),
  );
