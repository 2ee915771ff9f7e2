import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { InTransaction } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { readable, shown } from '../config/blame.js';
import { ownOption } from '../config/known-options.js';
import { dataSourceOf } from '../database/chosen-data-source.js';
import { sqlStateOf } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { SessionWatch } from '../database/session-watch.js';
import { keyText } from '../store/rows/delay-rows.js';
import { type Growth, pauseMs } from '../tasks/growing-pause.js';
import {
  type ActingAttempt,
  callOfManager,
  currentCall,
  isJoined,
  isManager,
  type Surrounding,
} from './handler-context.js';
import {
  belongsInside,
  isEnding,
  transactionIsOver,
  transactionNow,
  type TransactionNumber,
} from './transaction-end.js';

/** What a call is about. */
interface Target {
  readonly name: string;
  readonly key: string | null;
}

/** Of a call that has a filter: which delays it is about is known only when it looks. */
type Targets = readonly Target[] | 'all';

/**
 * The calls of one transaction. Those about the same name and key take effect in the order in which they
 * were made, each after the answer of the one before it.
 *
 * Parallel branches of a caller share their transaction, and see what the others have not finished: one of
 * them could move, cancel or find a delay that a `scheduleMany` takes back a moment later.
 */
export class CallsInOrder {
  /** By key, a promise that resolves when the last call about that key is over. No open call: no entry. */
  readonly #last = new Map<string, Promise<void>>();
  /** The same of the last call about all. */
  #lastOfAll: Promise<void> | undefined;

  /** The calls of the runner's transaction; its savepoints share the runner. */
  static of(runner: QueryRunner): CallsInOrder {
    const known = byRunner.get(runner);
    if (known !== undefined) return known;
    const calls = new CallsInOrder();
    byRunner.set(runner, calls);
    return calls;
  }

  /** All keys of a call are taken at once, before anything is awaited: so no two calls wait for each other. */
  async run<Result>(targets: Targets, call: () => Promise<Result>): Promise<Result> {
    const keys = targets === 'all' ? [] : targets.filter(({ key }) => key !== null).map(keyText);
    const before =
      targets === 'all'
        ? [...this.#last.values()]
        : keys.flatMap((key) => this.#last.get(key) ?? []);
    if (this.#lastOfAll !== undefined) before.push(this.#lastOfAll);
    let leave!: () => void;
    const over = new Promise<void>((resolve) => {
      leave = resolve;
    });
    for (const key of keys) this.#last.set(key, over);
    if (targets === 'all') this.#lastOfAll = over;
    try {
      if (before.length > 0) await Promise.all(before);
      return await call();
    } finally {
      for (const key of keys) if (this.#last.get(key) === over) this.#last.delete(key);
      if (this.#lastOfAll === over) this.#lastOfAll = undefined;
      leave();
    }
  }
}

const byRunner = new WeakMap<QueryRunner, CallsInOrder>();

/** Where a write runs; without a manager it is a transaction of its own. */
export interface CallersTransaction {
  manager: EntityManager | undefined;
  runner: Runner;
  /** Runs a call after those that other branches of the same transaction have made about the same keys. */
  inOrder: CallsInOrder['run'];
}

/** For calls each of which is a transaction of its own. */
export const aloneBy = (runner: Runner): CallersTransaction => ({
  manager: undefined,
  runner,
  inOrder: (_, call) => call(),
});

/**
 * The transaction that the caller chose: that of a manager, or undefined for a transaction of the call's own.
 * No call joins a transaction that it does not name, unless the application says how to find the surrounding one.
 * Inside a transactional handler a write has to say which one it means, unless the application has joined the two.
 *
 * @param surrounding the surrounding transaction's manager, for calls that name none
 * @throws DelayInvalidError for what is no EntityManager, for a manager of another DataSource or of a transaction
 * that is over, and for a write without a manager inside a transactional handler
 */
export function transactionOf(
  dataSource: DataSource,
  options: InTransaction,
  kind: 'read' | 'write',
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
      'inside a transactional handler say which transaction: `manager: ctx.manager` joins it, ' +
        "`manager: 'own'` is a transaction of its own",
    );
  }
  if (manager === undefined) return undefined;
  if (dataSourceOf(manager) !== dataSource) {
    throw new DelayInvalidError(
      'manager',
      'belongs to another DataSource than the delays: the two could not commit together',
    );
  }
  // A manager of the whole pool, such as `dataSource.manager`: it has no transaction.
  const { queryRunner } = manager;
  if (queryRunner === undefined) return undefined;
  if (callOfManager(manager)?.over || queryRunner.isReleased || isEnding(queryRunner)) {
    throw transactionIsOver();
  }
  // From here on, so that a transaction which ends and begins anew during the call is known for another one.
  SessionWatch.beginIfConnected(queryRunner);
  const calls = CallsInOrder.of(queryRunner);
  return {
    manager,
    runner: runnerOf(manager),
    inOrder: (targets, call) => calls.run(targets, call),
  };
}

/**
 * Only a manager that is left out means "no transaction". A null, or a QueryRunner, was probably meant as a
 * transaction: a write outside of that transaction would be committed although the transaction is rolled back.
 */
function managerIn(options: InTransaction): InTransaction['manager'] {
  return readable('manager', () => {
    const manager = ownOption(options, 'manager', 'options');
    if (manager === undefined || manager === 'own' || isManager(manager)) return manager;
    throw new DelayInvalidError(
      'manager',
      `must be an EntityManager (of a QueryRunner its manager) or 'own', not ${shown(manager)}`,
    );
  });
}

/**
 * Runs the statements of one call through that manager. A manager with a connection of its own may be in a
 * transaction, which may have been begun in plain SQL. A call that is not awaited may outlive that transaction:
 * its later statements would be committed without it, and are refused.
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

/** Whether a transaction is open on it, as far as is known here. */
const isOpen = (runner: QueryRunner): boolean =>
  !isEnding(runner) && (runner.isTransactionActive || SessionWatch.of(runner)?.isOpen === true);

/** A transaction that is open, and which one of its session it is, where that is known. */
interface OpenTransaction {
  transaction: TransactionNumber;
}

/** Undefined when none is open, as far as is known here. */
export const openOn = (runner: QueryRunner): OpenTransaction | undefined =>
  isOpen(runner) ? { transaction: transactionNow(runner) } : undefined;

/** Whether that very transaction is open: another one may have begun behind it. */
export const isStillOpen = ({ transaction }: OpenTransaction, runner: QueryRunner): boolean =>
  isOpen(runner) && (transaction === undefined || transaction === transactionNow(runner));

/** Whether the manager is in a transaction. One that was begun in plain SQL is known to the server alone. */
export async function isInTransaction({ queryRunner }: EntityManager): Promise<boolean> {
  if (queryRunner === undefined) return false;
  if (queryRunner.isTransactionActive) return true;
  await SessionWatch.begin(queryRunner);
  await queryRunner.query('SELECT 1');
  return SessionWatch.of(queryRunner)?.isOpen ?? false;
}

/** TypeORM keeps the parameters of what failed; Postgres quotes rows, values and inner statements. */
const DATA_FIELDS = ['parameters', 'detail', 'where', 'internalQuery'];

/**
 * Applications log a database error with all its properties, and a payload may hold data that belongs into no
 * log. Class, message, code and stack stay; the server's own log has the rest.
 */
export function dropData(error: unknown): void {
  if (!(error instanceof Error)) return;
  for (const field of DATA_FIELDS) Reflect.deleteProperty(error, field);
  // TypeORM's error is a copy of the driver's error, and holds that error too.
  if ('driverError' in error) dropData(error.driverError);
}

/** Whether a call may travel with those of others. */
export const isAlone = ({ manager }: CallersTransaction, own: ActingAttempt | undefined): boolean =>
  manager === undefined && own === undefined;

/** Postgres breaks a deadlock by failing one of its parties, and undoes all that one did. */
const DEADLOCK = '40P01';

/** Pauses double from the first to the last try; at random, so that the same two do not meet again. */
const TRIES_MAX = 8;
const PAUSE: Growth = { firstMs: 8, factor: 2, lastMs: 2_048, jitter: 1 };

/**
 * Does work again that was a deadlock's victim. Only for a whole transaction, or a statement that
 * is one. Callers of `scheduleMany` lock in one order, but a key that is cancelled meanwhile is
 * inserted out of turn.
 */
export async function despiteDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES_MAX || sqlStateOf(error) !== DEADLOCK) throw error;
    }
    await pause(pauseMs(PAUSE, tries));
  }
}
