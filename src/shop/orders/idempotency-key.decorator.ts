import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { InvalidRequest } from '../http/invalid-request.js';

/** Printable ASCII without spaces: nothing else is portable in an HTTP header. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The `Idempotency-Key` header, or `undefined`; 400 if it is invalid. Pipes do not see headers. */
export const IdempotencyKey = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const key = context.switchToHttp().getRequest<Request>().get('idempotency-key');
  if (key === undefined || KEY.test(key)) return key;
  throw new InvalidRequest({
    field: 'Idempotency-Key',
    message: 'must be 1 to 255 printable ASCII characters without blanks',
  });
});
