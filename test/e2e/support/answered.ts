import { expect } from '@jest/globals';
import { problem, type Problem } from '../../../src/shop/http/problem.js';
import type { RawAnswer } from './running-shop.js';

/** Of no order. */
export const ID = '11111111-2222-4333-8444-555555555555';
export const JSON_TYPE = { 'content-type': 'application/json' };

/** Where the code is, or what it says to the database, is nobody's business. */
const INSIDES =
  /\bat .*:\d+:\d+|node_modules|SELECT |INSERT |UPDATE |DELETE FROM|QueryFailed|\.ts\b|\.js\b/;

/** How zod says it to programmers. */
const RAW_WORDING = /Invalid input|Too (?:big|small)|Unrecognized key|expected .*received/;

/** An error as all of them are, with that status. */
export function problemIn({ status, headers, text }: RawAnswer, expected: number): Problem {
  expect({ status, text }).toMatchObject({ status: expected });
  expect(headers['content-type']).toBe('application/problem+json');
  expect(headers['set-cookie']).toBeUndefined();
  expect(text).not.toMatch(INSIDES);
  expect(text).not.toMatch(RAW_WORDING);
  const said = problem.strict().parse(JSON.parse(text));
  expect(said.status).toBe(expected);
  expect(said.detail).not.toBe('');
  return said;
}
