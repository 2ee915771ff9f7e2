import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { DelayInvalidError } from './delay.errors.js';
import { currentAttempt, isLateTransaction } from './engine/current-attempt.js';
import { despiteDeadlocks } from './store/deadlock.js';
import type { Runner } from './store/rows.js';

/** Where a write runs; without a manager it is a transaction of its own. */
export interface CallersTransaction {
  manager: EntityManager | undefined;
  runner: Runner;
}

/**
 * The transaction a write runs in: the caller's, or inside a transactional handler the handler's own,
 * since a second connection would wait on the handler's own row without end.
 *
 * @throws DelayInvalidError a manager of another DataSource, or a handler whose attempt is over
 */
export function transactionOf(
  dataSource: DataSource,
  manager: EntityManager | undefined,
): CallersTransaction {
  const chosen = manager ?? currentAttempt()?.manager;
  if (chosen === undefined) {
    if (isLateTransaction()) {
      throw new DelayInvalidError(
        'manager',
        'the attempt this call belongs to is over, and its transaction with it',
      );
    }
    const pool = runnerOf(dataSource);
    const runner: Runner = {
      query: (sql, parameters) => despiteDeadlocks(() => pool.query(sql, parameters)),
    };
    return { manager: undefined, runner };
  }
  if (chosen.dataSource !== dataSource) {
    throw new DelayInvalidError(
      'manager',
      'belongs to another DataSource than the delays: the two could not commit together',
    );
  }
  return { manager: chosen, runner: runnerOf(chosen) };
}

/** Statements of that manager; in a transaction, with the means to take some of them back. */
export function runnerOf(
  source: Pick<EntityManager, 'query'> & { queryRunner?: QueryRunner },
): Runner {
  const query = <Row>(sql: string, parameters: unknown[]) => source.query<Row[]>(sql, parameters);
  if (!source.queryRunner?.isTransactionActive) return { query };
  return {
    query,
    async attempt(work, isWorthKeeping) {
      await source.query('SAVEPOINT delay_queue');
      const result = await work();
      if (!isWorthKeeping(result)) await source.query('ROLLBACK TO SAVEPOINT delay_queue');
      await source.query('RELEASE SAVEPOINT delay_queue');
      return result;
    },
  };
}
