import { INVALID_PARAMETER_VALUE, sqlStateOf } from './driver-errors.js';
import { given, type Runner } from './runner.js';

/**
 * What became of a transaction. Parameter: its number. Answers one row: `committed`, `aborted`, `in progress`, or null
 * when that is forgotten, after millions of others.
 */
export const transactionStatusSql = (): string =>
  'SELECT pg_catalog.pg_xact_status($1::xid8) AS status';

/**
 * Which of these processes of the server wait for a synchronous replica at their COMMIT. Parameter: pids[]. Such a session
 * stays until that replica is back, whatever has become of its connection.
 */
export const hangingSql = (): string => `
SELECT a.pid::text AS pid FROM pg_catalog.pg_stat_activity a
WHERE a.pid = ANY ($1::int4[]) AND a.wait_event = 'SyncRep'::text`;

interface StatusAnswer {
  status: 'committed' | 'aborted' | 'in progress' | null;
}

/**
 * Whether a transaction was committed; undefined while it is not over.
 * @param transaction its number, as `pg_current_xact_id()` told it
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
    // No transaction had that number yet: a replica has taken over, to which this one had not come.
    if (sqlStateOf(error) === INVALID_PARAMETER_VALUE) return false;
    throw error;
  }
}
