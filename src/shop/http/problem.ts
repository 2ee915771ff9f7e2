import { HttpException } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';

/** Problems that say more than their status. All others are of the type `about:blank`. */
export const KINDS = {
  'invalid-request': { status: 400, title: 'Something in the request is not right' },
  'out-of-stock': { status: 409, title: 'Out of stock' },
  'key-used-before': { status: 422, title: 'The Idempotency-Key was used for something else' },
} as const;
export type ProblemKind = keyof typeof KINDS;

/** The body of every error, as `application/problem+json` (RFC 9457). */
export const problem = z.object({
  type: z
    .string()
    .meta({ format: 'uri-reference', description: '`about:blank`: the status says it all' }),
  title: z.string().meta({ description: 'The same for all problems of a type' }),
  status: z.int(),
  detail: z.string().meta({ description: 'What is wrong this time, and what would be right' }),
  errors: z
    .array(
      z.object({
        field: z.string().meta({ example: 'items.0.quantity' }),
        message: z.string().meta({ example: 'must be at most 99' }),
      }),
    )
    .optional()
    .meta({ description: 'For 400: what is wrong with which field of body, query or headers' }),
  sku: z.string().optional().meta({ description: 'What is out of stock' }),
});
export type Problem = z.infer<typeof problem>;
export type FieldError = NonNullable<Problem['errors']>[number];

/** A problem of the type `about:blank`. */
export const plainProblem = (status: number, detail: string): Problem => ({
  type: 'about:blank',
  title: STATUS_CODES[status] ?? 'Error',
  status,
  detail,
});

/**
 * An error with its own type. Where the status says it all, throw Nest's exception: `new
 * ConflictException('the order cannot be shipped: it is UNPAID')`.
 */
export class ProblemException extends HttpException {
  constructor(kind: ProblemKind, detail: string, more: Pick<Problem, 'errors' | 'sku'> = {}) {
    const { status, title } = KINDS[kind];
    const answer: Problem = { type: `/docs#${kind}`, title, status, detail, ...more };
    super(answer, status);
    this.message = detail;
  }
}
