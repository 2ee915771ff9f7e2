import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { ignoreRejection } from '../api/adopted.js';
import type { DelayTransaction, InTransaction } from '../api/delay.js';
import { DelayInvalidError, DelayShutdownError } from '../api/errors.js';
import { ownOption } from '../config/known-options.js';
import { readable } from '../config/refusals.js';
import { shown } from '../config/shown.js';
import { bring, UNCOMPILED } from '../database/connection-config.js';
import { dropData, explainError, ServerError } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { owningDataSource, SessionWatch } from '../database/session-watch.js';
import { CallsInOrder } from './calls-in-order.js';
import { ForeignTransaction } from './foreign-transaction.js';
import {
  belongsInside,
  isEnding,
  TransactionEnds,
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
import { despiteDeadlocks, type OutsideTransactions } from './outside-transactions.js';

/** What a call joins: a transaction of TypeORM, or of another library. */
export type Joined = EntityManager | ForeignTransaction;

/** Where a write runs. Without `joined`, it is its own transaction. */
export interface CallersTransaction {
  joined: Joined | undefined;
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

/** Chooses and runs the transactions in which calls write and read. */
export class Transactions {
  readonly #ends: TransactionEnds;
  readonly #alone: Readonly<Record<Kind, CallersTransaction>>;

  /** @param calls order writes; once closed, no call gets its own transaction */
  constructor(
    private readonly dataSource: DataSource,
    private readonly outside: OutsideTransactions,
    private readonly calls: CallsAlone,
    private readonly schema: string,
    private readonly surrounding: Surrounding | undefined,
  ) {
    this.#ends = TransactionEnds.of(dataSource);
    const { writes, reads, looks, aside } = outside;
    const alone = (runner: Runner, inOrder = atOnce): CallersTransaction =>
      this.#explaining({ joined: undefined, runner, inOrder });
    this.#alone = {
      write: alone(writes, calls.inOrder),
      read: alone(reads),
      look: alone(looks),
      aside: alone(aside),
    };
  }

  /** @throws DelayShutdownError for calls that join nothing, once TypeORM closes its pool */
  of(options: InTransaction, kind: Kind): CallersTransaction {
    this.#ends.stay();
    const transaction = findTransaction(this.dataSource, options, kind, this.surrounding);
    if (transaction !== undefined) return this.#explaining(transaction);
    if (this.calls.isClosed) throw new DelayShutdownError();
    return this.#alone[kind];
  }

  /** Explains errors only at the end of the call: inside, the original decides what to do. */
  #explaining(transaction: CallersTransaction): CallersTransaction {
    return {
      ...transaction,
      inOrder: async (targets, call) => {
        try {
          return await transaction.inOrder(targets, call);
        } catch (error) {
          const explained = explainError(error, this.schema);
          throw explained instanceof ServerError ? explained.original : explained;
        }
      },
    };
  }

  /**
   * Awaits the payloads of a call; undefined when they are there. Its transaction was chosen before, since
   * the surrounding one may change, and may be over by then.
   */
  inTime(
    { joined }: CallersTransaction,
    ready: Promise<unknown> | undefined,
  ): Promise<void> | undefined {
    if (ready === undefined) return undefined;
    const runner = joined?.queryRunner;
    const open = runner === undefined ? undefined : openOn(runner);
    const arrived = ready.then(() => {
      if (joined === undefined && this.calls.isClosed) throw new DelayShutdownError();
      if (runner !== undefined && open !== undefined && !isStillOpen(open, runner))
        throw transactionIsOver();
    });
    // An earlier call about its key may fail the call first.
    return ignoreRejection(arrived);
  }

  /** Runs a call's statements in the caller's open transaction, or in one that ends here. */
  async run<Result>(
    { joined, runner }: CallersTransaction,
    write: (joined: Joined, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    const writeAlone: typeof write = async (ours, ourRunner) => {
      // A statement for thousands of rows would be compiled.
      await bring(ourRunner, UNCOMPILED, 'transaction ends');
      return await write(ours, ourRunner);
    };
    if (joined === undefined) {
      return await despiteDeadlocks(() => this.outside.transaction(writeAlone));
    }
    if (joined instanceof ForeignTransaction) return await write(joined, runner);
    if (await isInTransaction(joined)) return await write(joined, runner);
    return await despiteDeadlocks(() =>
      joined.transaction((ours) => writeAlone(ours, { ...asRunner(ours), transaction: 'ours' })),
    );
  }
}

/**
 * The transaction that the caller chose; undefined: one of the call's own. A call joins only a
 * transaction that it names, unless the application knows how to find the surrounding one. Inside a
 * transactional handler a write must name one, unless the application has joined the two.
 */
function findTransaction(
  dataSource: DataSource,
  options: InTransaction,
  kind: Kind,
  surrounding?: Surrounding,
): CallersTransaction | undefined {
  const tx = ownOption(options, 'tx', 'options');
  const chosen = managerIn(options);
  if (tx !== undefined) return foreignTransaction(tx, chosen, kind);
  if (chosen === 'own') return undefined;
  const acting = chosen === undefined ? currentCall() : undefined;
  const isTransactional = acting?.handler.transactional === true;
  const isAsked = !isTransactional || isJoined(acting);
  const manager = chosen ?? (isAsked ? surrounding?.() : undefined);
  if (manager !== undefined && !isManager(manager)) {
    return foreignTransaction(manager, undefined, kind);
  }
  if (manager === undefined && isTransactional && kind === 'write') {
    throw new DelayInvalidError(
      'manager',
      'inside a transactional handler, name the transaction: `manager: ctx.manager` joins it, ' +
        "`manager: 'own'` uses a separate transaction",
    );
  }
  if (manager === undefined) return undefined;
  if (owningDataSource(manager) !== dataSource) {
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
    joined: manager,
    runner: asRunner(manager),
    inOrder: (targets, call) => calls.run(targets, call),
  };
}

function foreignTransaction(
  tx: DelayTransaction,
  manager: unknown,
  kind: Kind,
): CallersTransaction {
  if (manager !== undefined) {
    throw new DelayInvalidError('tx', 'give either manager or tx, not both');
  }
  const joined = ForeignTransaction.of(tx);
  return {
    joined,
    runner: kind === 'write' ? joined.runner() : joined.reads,
    inOrder: (targets, call) => joined.calls.run(targets, call),
  };
}

/** The database of the manager that the caller gives; what is wrong with it is said later. */
export function managersDataSource(options: InTransaction | undefined): DataSource | undefined {
  try {
    const manager: unknown = options?.manager;
    return isManager(manager) ? owningDataSource(manager) : undefined;
  } catch {
    return undefined;
  }
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
export function asRunner(
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

/** An open transaction, with its number within the session where that is known. */
const openOn = (runner: QueryRunner): { transaction: TransactionNumber } | undefined =>
  isOpen(runner) ? { transaction: transactionNow(runner) } : undefined;

/** Whether that same transaction is still open: another one may have begun since. */
const isStillOpen = (
  { transaction }: { transaction: TransactionNumber },
  runner: QueryRunner,
): boolean =>
  isOpen(runner) && (transaction === undefined || transaction === transactionNow(runner));

/**
 * Whether a call that joins it is in a transaction. Asks the server about one begun in plain SQL; a
 * write in another library's transaction proves that by itself.
 */
export async function isInTransaction(joined: Joined): Promise<boolean> {
  if (joined instanceof ForeignTransaction) return true;
  const { queryRunner } = joined;
  if (queryRunner === undefined) return false;
  if (queryRunner.isTransactionActive) return true;
  await SessionWatch.begin(queryRunner);
  await queryRunner.query('SELECT 1');
  return SessionWatch.of(queryRunner)?.isOpen ?? false;
}

/** Whether a call may be coalesced. */
export const isAlone = ({ joined }: CallersTransaction, own: ActingAttempt | undefined): boolean =>
  joined === undefined && own === undefined;

/** A read sees what is committed, and waits for no write. */
const atOnce: CallersTransaction['inOrder'] = (_, call) => call();
