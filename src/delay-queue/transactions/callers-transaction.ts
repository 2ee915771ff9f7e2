import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { InTransaction } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { ownOption, readable, shown } from '../config/known-options.js';
import type { Runner } from '../database/runner.js';
import { dataSourceOf, SessionWatch } from '../database/session-watch.js';
import {
  belongsInside,
  isEnding,
  transactionIsOver,
  transactionNow,
  type TransactionNumber,
} from './commit-hooks.js';
import {
  type ActingAttempt,
  callOfManager,
  currentCall,
  isJoined,
  isManager,
  type Surrounding,
} from './handler-context.js';
import { dropData } from './outside-transactions.js';
import { CallsInOrder } from './calls-in-order.js';

/** Where a write runs. Without a manager, it is its own transaction. */
export interface CallersTransaction {
  manager: EntityManager | undefined;
  runner: Runner;
  /** Runs a call after earlier calls of the same transaction about the same keys. */
  inOrder: CallsInOrder['run'];
}

/** Calls that are each their own transaction. */
export interface CallsAlone {
  readonly isClosed: boolean;
  readonly inOrder: CallersTransaction['inOrder'];
}

/** What a call does: `look` reads many rows, and `aside` works although the pool is used up. */
export type Kind = 'read' | 'look' | 'aside' | 'write';

/**
 * The transaction that the caller chose; undefined: one of the call's own. A call joins only a
 * transaction that it names, unless the application knows how to find the surrounding one. Inside a
 * transactional handler a write must name one, unless the application has joined the two.
 * @param surrounding finds the manager for calls that name none
 * @throws DelayInvalidError for a value that is not an EntityManager, for a manager of another
 *   DataSource or of a transaction that is over, and for a write without a manager inside a
 *   transactional handler
 */
export function transactionOf(
  dataSource: DataSource,
  options: InTransaction,
  kind: Kind,
  surrounding?: Surrounding,
): CallersTransaction | undefined {
  const chosen = managerIn(options);
  if (chosen === 'own') return undefined;
  const acting = chosen === undefined ? currentCall() : undefined;
  const isTransactional = acting?.handler.transactional === true;
  const isAsked = !isTransactional || isJoined(acting);
  const manager = chosen ?? (isAsked ? surrounding?.() : undefined);
  if (manager === undefined && isTransactional && kind === 'write') {
    throw new DelayInvalidError(
      'manager',
      'inside a transactional handler, name the transaction: `manager: ctx.manager` joins it, ' +
        "`manager: 'own'` uses a separate transaction",
    );
  }
  if (manager === undefined) return undefined;
  if (dataSourceOf(manager) !== dataSource) {
    throw new DelayInvalidError(
      'manager',
      'belongs to another DataSource than the delays: the two could not commit together',
    );
  }
  // A manager of the whole pool, such as `dataSource.manager`, has no transaction.
  const { queryRunner } = manager;
  if (queryRunner === undefined) return undefined;
  if (callOfManager(manager)?.over || queryRunner.isReleased || isEnding(queryRunner)) {
    throw transactionIsOver();
  }
  // From here on, a transaction that ends and begins anew during the call is noticed.
  SessionWatch.beginIfConnected(queryRunner);
  const calls = CallsInOrder.of(queryRunner);
  return {
    manager,
    runner: runnerOf(manager),
    inOrder: (targets, call) => calls.run(targets, call),
  };
}

/**
 * Only a manager that is left out means "no transaction". A null or a QueryRunner was probably
 * meant as one: the write would be committed even if that transaction is rolled back.
 */
function managerIn(options: InTransaction): InTransaction['manager'] {
  return readable('manager', () => {
    const manager = ownOption(options, 'manager', 'options');
    if (manager === undefined || manager === 'own' || isManager(manager)) return manager;
    throw new DelayInvalidError(
      'manager',
      `must be an EntityManager (for a QueryRunner, its manager) or 'own', not ${shown(manager)}`,
    );
  });
}

/**
 * Runs the statements of one call through the manager. A manager with its own connection may be in
 * a transaction, perhaps begun in plain SQL. Later statements of a call that is not awaited may
 * come after its end, where they would be committed without it: they are refused.
 */
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
  const { queryRunner } = source;
  if (queryRunner === undefined) return { query };
  const began = openOn(queryRunner);
  return {
    transaction: 'callers',
    query: async (sql, parameters) => {
      const connecting = SessionWatch.begin(queryRunner);
      if (connecting) await connecting;
      if (began === undefined) return query(sql, parameters);
      if (!isStillOpen(began, queryRunner)) throw transactionIsOver();
      const sent = [...parameters];
      belongsInside(sent, transactionNow(queryRunner));
      return query(sql, sent);
    },
  };
}

/** Whether a transaction is known to be open on the runner. */
const isOpen = (runner: QueryRunner): boolean =>
  !isEnding(runner) && (runner.isTransactionActive || SessionWatch.of(runner)?.isOpen === true);

/** An open transaction, and its number within the session where that is known. */
interface OpenTransaction {
  transaction: TransactionNumber;
}

/** Undefined when no transaction is known to be open. */
export const openOn = (runner: QueryRunner): OpenTransaction | undefined =>
  isOpen(runner) ? { transaction: transactionNow(runner) } : undefined;

/** Whether that same transaction is still open: another one may have begun since. */
export const isStillOpen = ({ transaction }: OpenTransaction, runner: QueryRunner): boolean =>
  isOpen(runner) && (transaction === undefined || transaction === transactionNow(runner));

/** Whether the manager is in a transaction. Asks the server about one begun in plain SQL. */
export async function isInTransaction({ queryRunner }: EntityManager): Promise<boolean> {
  if (queryRunner === undefined) return false;
  if (queryRunner.isTransactionActive) return true;
  await SessionWatch.begin(queryRunner);
  await queryRunner.query('SELECT 1');
  return SessionWatch.of(queryRunner)?.isOpen ?? false;
}

/** Whether a call may be coalesced. */
export const isAlone = ({ manager }: CallersTransaction, own: ActingAttempt | undefined): boolean =>
  manager === undefined && own === undefined;

/** A read sees what is committed, and waits for no write. */
export const atOnce: CallersTransaction['inOrder'] = (_, call) => call();
