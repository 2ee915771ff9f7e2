import { CLAIM_LOST } from './sql/attempts/complete.sql.js';

/** The five characters by which Postgres names what went wrong, if it was Postgres who said so. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && SQLSTATE.test(error.code) ? error.code : undefined;
}

/** Somebody else has the key. */
export const UNIQUE_VIOLATION = '23505';

/** The role may not do that. */
export const PERMISSION_DENIED = '42501';

/** `lock_timeout` has run out. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** A text is none of the type that it should become. */
const INVALID_TEXT_REPRESENTATION = '22P02';

/** A removal has failed because its row is not there: by the only error that plain SQL can make of that. */
export const isClaimLost = (error: unknown): boolean =>
  sqlStateOf(error) === INVALID_TEXT_REPRESENTATION &&
  error instanceof Error &&
  error.message.includes(CLAIM_LOST);

/** A prepared statement that the session does not know, or no longer. */
const INVALID_SQL_STATEMENT_NAME = '26000';

/** A statement of the transaction has failed, and none is run any more. */
const IN_FAILED_SQL_TRANSACTION = '25P02';

export const isInFailedTransaction = (error: unknown): boolean =>
  sqlStateOf(error) === IN_FAILED_SQL_TRANSACTION;

export const isStatementGone = (error: unknown): boolean =>
  sqlStateOf(error) === INVALID_SQL_STATEMENT_NAME;

/** What a function was given makes no sense here. */
export const INVALID_PARAMETER_VALUE = '22023';

const SQLSTATE = /^[0-9A-Z]{5}$/;
