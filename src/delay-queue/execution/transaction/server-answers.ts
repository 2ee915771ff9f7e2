import type { PoolClient, QueryResult } from 'pg';
import {
  DelayError,
  DelayInvalidError,
  DelayLeaseLostError,
  DelayRolledBackError,
} from '../../delay/delay.errors.js';

/**
 * After an error in the transaction the server answers ROLLBACK to a COMMIT, and no error.
 * @throws DelayRolledBackError
 */
export function committed(answer: QueryResult): QueryResult {
  if (answer.command !== 'COMMIT') throw new DelayRolledBackError();
  return answer;
}

/** Whether a COMMIT that failed with this error has certainly not happened. */
export const isRolledBack = (error: unknown): boolean =>
  error instanceof DelayRolledBackError || error instanceof DelayLeaseLostError;

/** TypeORM wraps whatever a client throws. */
export function rethrow(error: unknown): never {
  const cause: unknown =
    error instanceof Error && 'driverError' in error ? error.driverError : undefined;
  throw cause instanceof DelayError ? cause : error;
}

/** By what the server said with its last answer; older versions of `pg` did not keep it. */
export const isOutsideTransaction = (client: PoolClient): boolean => statusOf(client) === 'I';

export function isInTransaction(client: PoolClient): boolean {
  const status = statusOf(client);
  return status === 'T' || status === 'E';
}

function statusOf(client: PoolClient): string | null | undefined {
  const { getTransactionStatus } = client as { getTransactionStatus?: () => string | null };
  return getTransactionStatus?.call(client);
}

/** However it came about, the claim no longer protects what the handler did. */
export const wasEnded = (): DelayInvalidError =>
  new DelayInvalidError('manager', 'the transaction was ended while the handler ran');
