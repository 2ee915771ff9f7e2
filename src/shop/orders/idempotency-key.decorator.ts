import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { InvalidRequest } from '../http/invalid-request.js';

/** Printable ASCII without spaces: HTTP agrees on nothing else in a header. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The `Idempotency-Key` header, or `undefined`; 400 when it is not usable. Pipes skip headers. */
export const IdempotencyKey = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const key = context.switchToHttp().getRequest<Request>().get('idempotency-key');
  if (key === undefined || KEY.test(key)) return key;
  throw new InvalidRequest({
    field: 'Idempotency-Key',
    message: 'must be 1 to 255 printable ASCII characters without blanks',
  });
});
