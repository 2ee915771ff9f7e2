import type { Case } from '../support/every-case.js';

/** A well-formed request with something in it that nobody should send, and what must be answered. */
export interface HostileRequest extends Case {
  method: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  status: number;
  /** How one line of the answer's `message` begins, or what it says. */
  says?: RegExp;
}

export const JSON_TYPE = { 'content-type': 'application/json' };
/** Of no order. */
export const ID = '11111111-2222-4333-8444-555555555555';

export const post = (
  path: string,
  what: string,
  body: string | Buffer,
  expected: Partial<HostileRequest>,
): HostileRequest => ({
  what: `POST ${path}: ${what}`,
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body,
  status: 400,
  ...expected,
});

/** A body of an order, as it goes out. */
export const text = (what: string, body: string | Buffer, given: Partial<HostileRequest> = {}) =>
  post('/orders', what, body, given);

export const item = (given: object): object => ({
  items: [{ sku: 'CUP-WHITE', quantity: 1, ...given }],
});
/** An order that is taken. */
export const GOOD = JSON.stringify(item({}));
