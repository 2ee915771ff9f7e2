import { LOCK_NOT_AVAILABLE, sqlStateOf, UNIQUE_VIOLATION } from '../store/sql-state.js';

/** Connection and operator classes of SQLSTATE: what is heard last of a statement that may have committed. */
const OUTCOME_UNKNOWN = /^(?:08|25P04|57P)/;

/** `statement_timeout` or `transaction_timeout`, or somebody who may has cancelled it. */
const QUERY_CANCELED = '57014';

/**
 * Whether Postgres itself said no, so that the statement has left nothing behind. A connection that
 * ends says nothing about its last statement.
 */
export function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !OUTCOME_UNKNOWN.test(state);
}

/** Whether the statement met somebody whom it would have had to wait for, or who was a moment earlier. */
export function metSomebody(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === LOCK_NOT_AVAILABLE || state === UNIQUE_VIOLATION;
}

/** Whether the server itself has given up, which all calls of a statement hear alike. */
export const ranOutOfTime = (error: unknown): boolean => sqlStateOf(error) === QUERY_CANCELED;
