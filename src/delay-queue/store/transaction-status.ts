import { transactionStatusSql } from './sql/attempts/transaction-status.sql.js';
import { INVALID_PARAMETER_VALUE, sqlStateOf } from './sql-state.js';
import { given, type Runner } from './wire/runner.js';

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
