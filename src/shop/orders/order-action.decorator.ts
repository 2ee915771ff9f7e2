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
 * `POST /orders/:id/<action>`: 200 with the order, also when it is asked for again after it succeeded;
 * 404 for an unknown one, 409 in a wrong state.
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
