import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { ignoreRejection } from '../api/adopted.js';
import type { InTransaction } from '../api/delay.js';
import { DelayInvalidError, DelayShutdownError } from '../api/errors.js';
import { ownOption, readable, shown } from '../config/known-options.js';
import { bring, UNCOMPILED } from '../database/connection-config.js';
import { explained, isRefusal, isTooMuch } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { dataSourceOf, SessionWatch } from '../database/session-watch.js';
import { keyText } from '../store/rows/delay-rows.js';
import type { StatementSize } from '../store/statement-size.js';
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
import { despiteDeadlocks, dropData, type OutsideTransactions } from './outside-transactions.js';

interface Target {
  readonly name: string;
  readonly key: string | null;
}

/** `all`: a call with a filter, whose delays are known only once it reads. */
type Targets = readonly Target[] | 'all';

/** A call's place among those about its keys. */
export interface Turn {
  /** Resolves when the calls before it are over; undefined: there are none. */
  readonly before: Promise<unknown> | undefined;
  /** Ends the turn. Also before it has come: later calls then wait for the earlier ones alone. */
  readonly leave: () => void;
}

/**
 * Orders the calls of one transaction, or those that have none. Calls about the same name and key
 * take effect in the order in which they were made, each after the answer of the one before it.
 *
 * Parallel branches of a caller see each other's unfinished work: otherwise one could move, cancel
 * or find a delay that a `scheduleMany` is about to undo.
 */
export class CallsInOrder {
  /** By key, resolves when its last call is over. Without open calls, there is no entry. */
  readonly #last = new Map<string, Promise<void>>();
  /** Resolves when the last call about all delays is over. */
  #lastOfAll: Promise<void> | undefined;

  /** One instance per runner: savepoints share the runner. */
  static of(runner: QueryRunner): CallsInOrder {
    const known = byRunner.get(runner);
    if (known !== undefined) return known;
    const calls = new CallsInOrder();
    byRunner.set(runner, calls);
    return calls;
  }

  /** Takes all keys of a call at once: so no two calls wait for each other. */
  enter(targets: Targets): Turn {
    const keys = targets === 'all' ? [] : targets.filter(({ key }) => key !== null).map(keyText);
    const before =
      targets === 'all'
        ? [...this.#last.values()]
        : keys.flatMap((key) => this.#last.get(key) ?? []);
    if (this.#lastOfAll !== undefined) before.push(this.#lastOfAll);
    let resolve!: () => void;
    const over = new Promise<void>((resolved) => {
      resolve = resolved;
    });
    for (const key of keys) this.#last.set(key, over);
    if (targets === 'all') this.#lastOfAll = over;
    const end = (): void => {
      for (const key of keys) if (this.#last.get(key) === over) this.#last.delete(key);
      if (this.#lastOfAll === over) this.#lastOfAll = undefined;
      resolve();
    };
    if (before.length === 0) return { before: undefined, leave: end };
    const all = Promise.all(before);
    return { before: all, leave: () => void all.then(end) };
  }

  async run<Result>(targets: Targets, call: () => Promise<Result>): Promise<Result> {
    const { before, leave } = this.enter(targets);
    try {
      if (before !== undefined) await before;
      return await call();
    } finally {
      leave();
    }
  }
}

const byRunner = new WeakMap<QueryRunner, CallsInOrder>();

/** Where a write runs. Without a manager, it is its own transaction. */
export interface CallersTransaction {
  manager: EntityManager | undefined;
  runner: Runner;
  /** Runs a call after earlier calls of the same transaction about the same keys. */
  inOrder: CallsInOrder['run'];
}

/** Calls that are each their own transaction. */
interface CallsAlone {
  readonly isClosed: boolean;
  readonly inOrder: CallersTransaction['inOrder'];
}

/** What a call does: `look` reads many rows, and `aside` works although the pool is used up. */
type Kind = 'read' | 'look' | 'aside' | 'write';

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
const atOnce: CallersTransaction['inOrder'] = (_, call) => call();

/** Chooses and runs the transactions in which calls write and read. */
export class Transactions {
  readonly #ends: TransactionEnds;
  readonly #alone: Readonly<Record<Kind, CallersTransaction>>;

  /**
   * @param calls order writes; once closed, no call gets its own transaction
   * @param schema of the tables
   * @param surrounding finds the transaction of calls that name none
   */
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
      this.#explaining({ manager: undefined, runner, inOrder });
    this.#alone = {
      write: alone(writes, calls.inOrder),
      read: alone(reads),
      look: alone(looks),
      aside: alone(aside),
    };
  }

  /** @throws DelayShutdownError for calls without a manager, once TypeORM closes its pool */
  of(options: InTransaction, kind: Kind): CallersTransaction {
    this.#ends.stay();
    const transaction = transactionOf(this.dataSource, options, kind, this.surrounding);
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
          throw explained(error, this.schema);
        }
      },
    };
  }

  /**
   * Awaits the payloads of a call. Its transaction was chosen before: the surrounding one may change.
   * @returns undefined when they are there
   * @throws DelayShutdownError as {@link of}; DelayInvalidError if that transaction is over by then
   */
  inTime(
    { manager }: CallersTransaction,
    ready: Promise<unknown> | undefined,
  ): Promise<void> | undefined {
    if (ready === undefined) return undefined;
    const runner = manager?.queryRunner;
    const open = runner === undefined ? undefined : openOn(runner);
    const arrived = ready.then(() => {
      if (manager === undefined && this.calls.isClosed) throw new DelayShutdownError();
      if (runner !== undefined && open !== undefined && !isStillOpen(open, runner))
        throw transactionIsOver();
    });
    // An earlier call about its key may fail the call first.
    return ignoreRejection(arrived);
  }

  /** Runs a call's statements in one transaction: the caller's open one, or one that ends here. */
  async run<Result>(
    { manager, runner }: CallersTransaction,
    write: (manager: EntityManager, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    const writeAlone: typeof write = async (ours, ourRunner) => {
      // A statement for thousands of rows would be compiled.
      await bring(ourRunner, UNCOMPILED, 'transaction ends');
      return await write(ours, ourRunner);
    };
    if (manager === undefined) {
      return await despiteDeadlocks(() => this.outside.transaction(writeAlone));
    }
    if (await isInTransaction(manager)) return await write(manager, runner);
    return await despiteDeadlocks(() =>
      manager.transaction((ours) => writeAlone(ours, { ...runnerOf(ours), transaction: 'ours' })),
    );
  }
}

/**
 * Repeats a transaction with smaller statements when one of them exceeded a limit of the server;
 * nothing was written then. A caller's transaction has failed, and is the caller's to repeat.
 * @param total items of all statements together
 * @param work runs the transaction, with at most `most` items in a statement
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
