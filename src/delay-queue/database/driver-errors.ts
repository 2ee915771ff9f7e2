import { LOCK_NOT_AVAILABLE, sqlStateOf, UNIQUE_VIOLATION } from '../store/sql-state.js';

/** Connection and operator classes of SQLSTATE: a statement with such an error may have been committed. */
const OUTCOME_UNKNOWN = /^(?:08|25P04|57P)/;

/** `statement_timeout`, `transaction_timeout`, or a cancel request. */
const QUERY_CANCELED = '57014';

/**
 * Whether Postgres itself said no, so that the statement has left nothing behind. A connection that
 * ends says nothing about its last statement.
 */
export function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !OUTCOME_UNKNOWN.test(state);
}

/** Whether the statement met a lock that it does not wait for, or another statement that was faster. */
export function metSomebody(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === LOCK_NOT_AVAILABLE || state === UNIQUE_VIOLATION;
}

/** Whether the server itself gave up the statement: then all calls of the statement get that error. */
export const ranOutOfTime = (error: unknown): boolean => sqlStateOf(error) === QUERY_CANCELED;

/**
 * Whether `pg` gave up waiting for the answer: the server is busy, its COMMIT hangs, or the connection has died without a word. One
 * that was closed is another matter, for what closed it has closed the others too.
 */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout';
