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

/** A prepared statement that the session does not know, or no longer. */
const INVALID_SQL_STATEMENT_NAME = '26000';

export const isStatementGone = (error: unknown): boolean =>
  sqlStateOf(error) === INVALID_SQL_STATEMENT_NAME;

const SQLSTATE = /^[0-9A-Z]{5}$/;
