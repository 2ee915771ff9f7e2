import { isRefusal } from '../../database/driver-errors.js';
import { isTooMuch } from '../../store/sql-state.js';
import type { StatementSize } from '../../store/statement-size.js';
import type { CallersTransaction } from './callers-transaction.js';

/**
 * Does a whole transaction again, with smaller statements, when one of them was too much for a limit of the server:
 * nothing of it was written then. A caller's transaction is over by that, and is the caller's to begin again.
 *
 * @param total of all its statements together
 * @param work takes on no more in one statement
 */
export async function inSmallerStatements<Result>(
  size: StatementSize,
  { manager }: CallersTransaction,
  total: number,
  work: (most: number) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const most = Math.max(1, Math.min(size.now, total));
    const beganAtMs = performance.now();
    try {
      const result = await work(most);
      size.worked(most, (performance.now() - beganAtMs) / Math.ceil(total / most));
      return result;
    } catch (error) {
      if (!isRefusal(error) || !isTooMuch(error)) throw error;
      size.failed(most);
      if (manager !== undefined || most === 1) throw error;
    }
  }
}
