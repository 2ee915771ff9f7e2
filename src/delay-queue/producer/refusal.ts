/** Connection and operator classes of SQLSTATE: what is heard last of a statement that may have committed. */
const OUTCOME_UNKNOWN = /^(?:08|57P)/;
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** `lock_timeout` has run out. */
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Whether Postgres itself said no, so that the statement has left nothing behind. A connection that
 * ends says nothing about its last statement.
 */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && SQLSTATE.test(code) && !OUTCOME_UNKNOWN.test(code);
}

/** Whether the statement would have had to wait for somebody. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === LOCK_NOT_AVAILABLE;

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
