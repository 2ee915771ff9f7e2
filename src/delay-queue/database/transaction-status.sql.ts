import { INVALID_PARAMETER_VALUE, sqlStateOf } from './driver-errors.js';
import { given, type Runner } from './runner.js';
import { ON_PRIMARY } from './tables.js';

/**
 * How a transaction ended. Parameter: its number. Answers one row: `committed`, `aborted`, `in
 * progress`, or null when that is forgotten, after millions of others.
 */
export const transactionStatusSql = (): string =>
  'SELECT pg_catalog.pg_xact_status($1::xid8) AS status';

/**
 * Which of these server processes wait for a synchronous replica at their COMMIT. Parameter:
 * pids[]. Such a session stays until the replica is back, whatever becomes of its connection.
 */
export const hangingSql = (): string => `
${ON_PRIMARY}
SELECT a.pid::text AS pid FROM pg_catalog.pg_stat_activity a
WHERE a.pid = ANY ($1::int4[]) AND a.wait_event = 'SyncRep'::text`;

interface StatusAnswer {
  status: 'committed' | 'aborted' | 'in progress' | null;
}

/**
 * Whether the transaction with that `pg_current_xact_id()` was committed; undefined if not over. One
 * that Postgres has forgotten counts as not committed: what is written next is fenced, so at worst an
 * attempt that was committed is reported as lost.
 */
export async function wasCommitted(
  runner: Runner,
  transaction: string,
): Promise<boolean | undefined> {
  try {
    const [row] = await runner.query<StatusAnswer>(transactionStatusSql(), [transaction]);
    const { status } = given(row);
    return status === 'in progress' ? undefined : status === 'committed';
  } catch (error) {
    // No transaction has had that number yet: a replica took over that had not received this one.
    if (sqlStateOf(error) === INVALID_PARAMETER_VALUE) return false;
    throw error;
  }
}
