import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { dataSourceOf } from './chosen-data-source.js';
import type { InTransaction } from './delay.js';
import { DelayInvalidError } from './delay.errors.js';
import { currentCall, isLateTransaction } from './engine/current-call.js';
import type { Runner } from './store/rows.js';
import { readable } from './validation/blame.js';
import { shown } from './validation/shown.js';

/** Where a write runs; without a manager it is a transaction of its own. */
export interface CallersTransaction {
  manager: EntityManager | undefined;
  runner: Runner;
}

/**
 * The transaction a write runs in: the caller's, or inside a transactional handler the handler's own,
 * since a second connection would wait on the handler's own row without end. Undefined when there is none.
 *
 * @throws DelayInvalidError what is no EntityManager, a manager of another DataSource, or a handler
 * whose attempt is over
 */
export function transactionOf(
  dataSource: DataSource,
  options: InTransaction,
): CallersTransaction | undefined {
  const chosen = managerIn(options) ?? currentCall()?.manager;
  if (chosen === undefined) {
    if (isLateTransaction()) {
      throw new DelayInvalidError(
        'manager',
        'the attempt this call belongs to is over, and its transaction with it',
      );
    }
    return undefined;
  }
  if (dataSourceOf(chosen) !== dataSource) {
    throw new DelayInvalidError(
      'manager',
      'belongs to another DataSource than the delays: the two could not commit together',
    );
  }
  return { manager: chosen, runner: runnerOf(chosen) };
}

/**
 * Only what is left out means "no manager". A null, or a QueryRunner, which only looks like one, is
 * somebody's transaction that went astray: a write beside it would be committed without it.
 */
function managerIn(options: InTransaction): EntityManager | undefined {
  return readable('manager', () => {
    const { manager } = options;
    if (manager === undefined || isManager(manager)) return manager;
    throw new DelayInvalidError('manager', `must be an EntityManager, not ${shown(manager)}`);
  });
}

/** By TypeORM's own mark, not by class: an application may have a second copy of TypeORM. */
function isManager(value: unknown): value is EntityManager {
  return (
    typeof value === 'object' &&
    value !== null &&
    Reflect.get(value, '@instanceof') === Symbol.for('EntityManager')
  );
}

/** Statements of that manager; in a transaction, with the means to take some of them back. */
export function runnerOf(
  source: Pick<EntityManager, 'query'> & { queryRunner?: QueryRunner },
): Runner {
  const query = async <Row>(sql: string, parameters: unknown[]): Promise<Row[]> => {
    try {
      return await source.query<Row[]>(sql, parameters);
    } catch (error) {
      dropData(error);
      throw error;
    }
  };
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

/** TypeORM keeps the parameters of what failed; Postgres quotes rows, values and inner statements. */
const DATA_FIELDS = ['parameters', 'detail', 'where', 'internalQuery'];

/**
 * Whoever catches a database error logs it with every property it has, and a payload may hold what
 * belongs into no log. Class, message, code and stack stay; the server's own log has the rest.
 */
export function dropData(error: unknown): void {
  if (!(error instanceof Error)) return;
  for (const field of DATA_FIELDS) Reflect.deleteProperty(error, field);
  // TypeORM's error is a copy of the driver's, and carries that one too.
  if ('driverError' in error) dropData(error.driverError);
}
