import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { AfterQueryEvent, BeforeQueryEvent } from 'typeorm/subscriber/event/QueryEvent.js';
import type { TransactionCommitEvent } from 'typeorm/subscriber/event/TransactionCommitEvent.js';
import type { TransactionRollbackEvent } from 'typeorm/subscriber/event/TransactionRollbackEvent.js';
import { DelayInvalidError, DelayRolledBackError } from '../api/errors.js';
import { ForeignTransaction } from './foreign-transaction.js';
import { SessionWatch, type TransactionEnd } from '../database/session-watch.js';
import { transactionEndIn } from './transaction-end.js';

/**
 * @param certain the server has answered COMMIT, and nothing of the transaction was rolled back
 *   since the work was registered. Otherwise a savepoint may have undone it.
 */
export type Committed = (certain: boolean) => void;

/** Work that waits for the end of a transaction, and its savepoint depth when it was registered. */
interface Piece {
  depth: number;
  committed?: Committed;
  rolledBack?: () => void;
}

/** An open transaction in which the library was called. */
interface JoinedTransaction {
  pieces: Piece[];
  /** Rollbacks of the session before the first piece was registered. */
  rollbacksBefore: number;
  /** The session's watch when the transaction was first seen; read again at its end. */
  watch: SessionWatch | undefined;
}

interface EndedTransaction {
  end: TransactionEnd;
  /** See {@link Committed}. */
  certain: boolean;
  no: TransactionNumber;
}

/**
 * A TypeORM subscriber that observes how transactions end. One per DataSource, shared by all
 * applications on it. Stays while one of them runs, or a transaction that called one is open.
 */
export class TransactionEnds implements EntitySubscriberInterface {
  static of(dataSource: DataSource): TransactionEnds {
    let ends = bySource.get(dataSource);
    if (ends === undefined) bySource.set(dataSource, (ends = new TransactionEnds(dataSource)));
    return ends;
  }

  readonly #pending = new Map<QueryRunner, JoinedTransaction>();
  /** By runner, the last transaction that called the library, until its caller knows of its end. */
  readonly #ended = new WeakMap<QueryRunner, EndedTransaction>();
  /** The server ended them; TypeORM has not reported it yet. */
  readonly #untold = new Set<QueryRunner>();
  readonly #holders = new Set<object>();

  private constructor(private readonly dataSource: DataSource) {}

  hold(holder: object): void {
    this.#holders.add(holder);
    this.#subscribe();
  }

  /** In any order, and any number of times. */
  letGo(holder: object): void {
    this.#holders.delete(holder);
    this.#leaveIfDone();
  }

  /** Call it on every library call: TypeORM's `initialize()` makes a new list of subscribers. */
  stay(): void {
    if (this.#holders.size > 0) this.#subscribe();
  }

  /** Whether TypeORM must report the end of the runner's transaction: to us, or to others. */
  isAsked(runner: QueryRunner): boolean {
    const { subscribers } = this.dataSource;
    return this.#pending.has(runner) || subscribers.some(hearsTransactions);
  }

  /** @returns false when there is no such transaction; the piece is dropped then */
  leave(runner: QueryRunner, piece: Omit<Piece, 'depth'>): boolean {
    const isOpen = SessionWatch.of(runner)?.isOpen ?? runner.isTransactionActive;
    // The call's answer and the end of its transaction arrived in one packet.
    const ended = this.#pending.has(runner) ? undefined : this.#endedOf(runner);
    if (!isOpen && ended !== undefined) decide(piece, ended);
    else if (!isOpen && !runner.isTransactionActive) return false;
    else {
      const pending = this.#pendingOf(runner);
      if (pending.pieces.length === 0) pending.rollbacksBefore = pending.watch?.rollbacks ?? 0;
      pending.pieces.push({ ...piece, depth: transactionDepth(runner) });
    }
    return true;
  }

  /**
   * Its COMMIT was never sent, and its connection is given back or dropped. The driver reports a
   * session that the server has ended later than the error of its last statement.
   */
  neverCommitted(runner: QueryRunner): void {
    this.#end(runner, 'rolled back');
    this.#told(runner);
  }

  /** @throws DelayInvalidError out of a statement whose transaction ended before its turn */
  beforeQuery({ queryRunner: runner, query, parameters }: BeforeQueryEvent): void {
    if (isInside(runner, parameters)) this.#pendingOf(runner);
    else {
      if (!runner.isTransactionActive) this.#ended.delete(runner);
      sends(runner, query);
    }
  }

  /** @throws DelayRolledBackError out of a COMMIT in plain SQL: TypeORM reports only its own */
  afterQuery({ queryRunner: runner, query, success }: AfterQueryEvent): Promise<void> | void {
    const command = isAnswered(runner, query, !success);
    if (!success || (command !== 'COMMIT' && command !== 'END')) return undefined;
    const isTypeOrms = runner.isTransactionActive && !SessionWatch.of(runner)?.isOpen;
    return isTypeOrms ? undefined : this.#tell(runner);
  }

  /** @throws DelayRolledBackError out of `commitTransaction`: the caller expects a commit */
  afterTransactionCommit({ queryRunner: runner }: TransactionCommitEvent): Promise<void> | void {
    if (runner.isTransactionActive) return this.#savepointReleased(runner);
    forgetEnd(runner);
    // For drivers whose server messages cannot be seen.
    this.#end(runner, 'committed');
    return this.#tell(runner);
  }

  beforeTransactionRollback({ queryRunner: runner }: TransactionRollbackEvent): void {
    if (transactionDepth(runner) === 1) willRollBack(runner);
  }

  afterTransactionRollback({ queryRunner: runner }: TransactionRollbackEvent): void {
    if (runner.isTransactionActive) return this.#savepointRolledBack(runner);
    forgetEnd(runner);
    this.#end(runner, 'rolled back');
    this.#told(runner);
  }

  #tell(runner: QueryRunner): Promise<void> | void {
    const ended = this.#endedOf(runner);
    this.#told(runner);
    return ended?.end === 'rolled back' ? Promise.reject(new DelayRolledBackError()) : undefined;
  }

  #told(runner: QueryRunner): void {
    this.#ended.delete(runner);
    this.#untold.delete(runner);
    this.#leaveSoon();
  }

  /** Undefined if another transaction has ended since. */
  #endedOf(runner: QueryRunner): EndedTransaction | undefined {
    const ended = this.#ended.get(runner);
    return ended?.no === transactionNow(runner) ? ended : undefined;
  }

  #pendingOf(runner: QueryRunner): JoinedTransaction {
    const known = this.#pending.get(runner);
    if (known !== undefined) return known;
    // Without a watch, the end of the session would leave the pieces waiting.
    SessionWatch.beginIfConnected(runner);
    const watch = SessionWatch.of(runner);
    const pending: JoinedTransaction = {
      pieces: [],
      rollbacksBefore: watch?.rollbacks ?? 0,
      watch,
    };
    this.#pending.set(runner, pending);
    this.#subscribe();
    // The server reports an end before TypeORM does, also for transactions of plain SQL.
    watch?.onOver((end) => this.#end(runner, end));
    return pending;
  }

  #end(runner: QueryRunner, end: TransactionEnd): void {
    const pending = this.#pending.get(runner);
    if (pending === undefined) return;
    this.#pending.delete(runner);
    const { watch, pieces, rollbacksBefore } = pending;
    const certain = end === 'committed' && watch?.rollbacks === rollbacksBefore;
    const ended = { end, certain, no: watch?.transactions };
    this.#ended.set(runner, ended);
    if (runner.isTransactionActive && end !== 'unknown') this.#untold.add(runner);
    for (const piece of pieces) decide(piece, ended);
    this.#leaveSoon();
  }

  /** Adds to the list and replaces nothing: replacements can only be undone in reverse order. */
  #subscribe(): void {
    const { subscribers } = this.dataSource;
    if (!subscribers.includes(this)) subscribers.push(this);
  }

  /** Later, because TypeORM may be iterating over the list. */
  #leaveSoon(): void {
    if (this.#holders.size === 0) setImmediate(() => this.#leaveIfDone());
  }

  #leaveIfDone(): void {
    if (this.#holders.size + this.#pending.size + this.#untold.size > 0) return;
    const { subscribers } = this.dataSource;
    const index = subscribers.indexOf(this);
    if (index !== -1) subscribers.splice(index, 1);
    SessionWatch.endAll(this.dataSource);
  }

  /** When a savepoint is released, work registered inside it belongs to the level above. */
  #savepointReleased(runner: QueryRunner): void {
    const depth = transactionDepth(runner);
    for (const piece of this.#pending.get(runner)?.pieces ?? []) {
      piece.depth = Math.min(piece.depth, depth);
    }
  }

  #savepointRolledBack(runner: QueryRunner): void {
    const depth = transactionDepth(runner);
    const pending = this.#pending.get(runner);
    if (pending === undefined) return;
    const undone = pending.pieces.filter((piece) => piece.depth > depth);
    pending.pieces = pending.pieces.filter((piece) => piece.depth <= depth);
    for (const { rolledBack } of undone) rolledBack?.();
  }
}

/** What is called for a statement that begins or ends a transaction. */
const HOOKS: readonly (keyof EntitySubscriberInterface)[] = [
  'beforeQuery',
  'afterQuery',
  'beforeTransactionStart',
  'afterTransactionStart',
  'beforeTransactionCommit',
  'afterTransactionCommit',
  'beforeTransactionRollback',
  'afterTransactionRollback',
];

const hearsTransactions = (each: EntitySubscriberInterface): boolean =>
  !(each instanceof TransactionEnds) && HOOKS.some((hook) => each[hook] !== undefined);

function decide(piece: Omit<Piece, 'depth'>, { end, certain }: EndedTransaction): void {
  const { committed, rolledBack } = piece;
  if (end !== 'rolled back') committed?.(certain);
  if (end !== 'committed') rolledBack?.();
}

const bySource = new WeakMap<DataSource, TransactionEnds>();

/** Runs an application's work after the caller's commit. Forgets work that was rolled back. */
export class AfterCommit {
  readonly #ends: TransactionEnds;
  #isStopped = false;

  constructor(dataSource: DataSource) {
    this.#ends = TransactionEnds.of(dataSource);
  }

  start(): void {
    this.#ends.hold(this);
  }

  stop(): void {
    this.#isStopped = true;
    this.#ends.letGo(this);
  }

  /**
   * Runs `committed` after the commit of the manager's transaction, or now if there is none; never
   * for a transaction of another library, whose end is not seen.
   */
  onCommit(manager: EntityManager | ForeignTransaction | undefined, committed: Committed): void {
    if (manager instanceof ForeignTransaction) return;
    const runner = manager?.queryRunner;
    if (runner === undefined) return committed(true);
    const unlessStopped: Committed = (certain) => {
      if (!this.#isStopped) committed(certain);
    };
    const isLeft = this.#ends.leave(runner, { committed: unlessStopped });
    if (!isLeft) committed(SessionWatch.of(runner) !== undefined);
  }

  /**
   * Runs `rolledBack` if what the transaction does now is rolled back, or its session ends without
   * a reported commit; never without a transaction.
   */
  onRollback(
    manager: Pick<EntityManager, 'queryRunner'> | undefined,
    rolledBack: () => void,
  ): void {
    const runner = manager?.queryRunner;
    if (runner !== undefined) this.#ends.leave(runner, { rolledBack });
  }
}

/** An application may put comments before its statements. */
const BEGINS = /^(?:\s|--.*\n|\/\*[^]*?\*\/)*(?:BEGIN|START\s+TRANSACTION)\b/i;

interface EndProgress {
  /** Unanswered ends: statements that were sent, and TypeORM's own rollback. */
  sent: number;
  /** The server has ended the transaction, and TypeORM does not know it yet. */
  isOver: boolean;
  /** State of the session's watch when the last of those statements was sent. */
  before: Pick<SessionWatch, 'transactions' | 'rollbacks'> | undefined;
}

const endings = new WeakMap<QueryRunner, EndProgress>();

/** By the parameters of a statement: the transaction that it belongs to, until it goes out. */
const inside = new WeakMap<object, { transaction: TransactionNumber }>();

/** Number of a transaction within its session; undefined where server messages cannot be seen. */
export type TransactionNumber = number | undefined;

/** Number of the runner's open transaction, if one is open. */
export const transactionNow = (runner: QueryRunner): TransactionNumber =>
  SessionWatch.of(runner)?.transactions;

/**
 * Whether the end of the runner's transaction was sent or has happened. Until the answer arrives,
 * TypeORM reports the transaction as active: what is sent then would be committed on its own.
 */
export function isEnding(runner: QueryRunner): boolean {
  const ending = endings.get(runner);
  return ending !== undefined && (ending.sent > 0 || ending.isOver);
}

/** Marks a statement by its parameters: it is refused if its transaction ends before its turn. */
export const belongsInside = (parameters: object, transaction: TransactionNumber): void =>
  void inside.set(parameters, { transaction });

/** A statement goes out. Whether it belongs to a transaction; throws when that is over. */
function isInside(runner: QueryRunner, parameters: object | undefined): boolean {
  const mark = parameters && inside.get(parameters);
  if (parameters === undefined || mark === undefined) return false;
  inside.delete(parameters);
  const isAnother = mark.transaction !== transactionNow(runner);
  if (isAnother || isEnding(runner)) throw transactionIsOver();
  return true;
}

/** An unmarked statement goes out on the runner, after all earlier ones. */
function sends(runner: QueryRunner, sql: string): void {
  if (transactionEndIn(sql) !== undefined) {
    void SessionWatch.begin(runner);
    const ending = trackEnding(runner);
    const watch = SessionWatch.of(runner);
    ending.sent += 1;
    ending.before = watch && { transactions: watch.transactions, rollbacks: watch.rollbacks };
  } else if (BEGINS.test(sql)) forgetEnd(runner);
}

/**
 * A statement is answered. An end that Postgres refuses rolls back, so it is an end too; its error
 * arrives before the session's new state.
 * @returns the command in it that ends a transaction
 */
function isAnswered(runner: QueryRunner, sql: string, isRefused: boolean): string | undefined {
  const watch = SessionWatch.of(runner);
  const isOver = watch?.isOpen === false;
  if (!isOver && !endings.has(runner)) return undefined;
  const ending = trackEnding(runner);
  const command = ending.sent > 0 ? transactionEndIn(sql) : undefined;
  const isEnd = command !== undefined;
  if (isEnd) {
    ending.sent -= 1;
    if (!isRefused && watch && wasChained(watch, ending.before)) watch.rolledBackAndChained();
  }
  ending.isOver =
    (isOver || (isEnd && isRefused)) && runner.isTransactionActive && transactionDepth(runner) > 0;
  return command;
}

/** An end was sent, a rollback was answered, and a transaction is open: it is the next one. */
const wasChained = (watch: SessionWatch, before: EndProgress['before']): boolean =>
  watch.isOpen === true &&
  watch.transactions === before?.transactions &&
  watch.rollbacks !== before.rollbacks;

/** TypeORM is about to roll back: a statement that joins now would be undone at once. */
function willRollBack(runner: QueryRunner): void {
  trackEnding(runner).sent += 1;
}

/** The ended transaction no longer matters: TypeORM knows of its end, or the next one begins. */
const forgetEnd = (runner: QueryRunner): void => void endings.delete(runner);

/** TypeORM's nesting depth: 1 for the transaction, one more for each savepoint. */
export function transactionDepth(runner: QueryRunner): number {
  const depth: unknown = Reflect.get(runner, 'transactionDepth');
  return typeof depth === 'number' ? depth : 1;
}

function trackEnding(runner: QueryRunner): EndProgress {
  let ending = endings.get(runner);
  if (ending === undefined) {
    endings.set(runner, (ending = { sent: 0, isOver: false, before: undefined }));
  }
  return ending;
}

export const transactionIsOver = (): DelayInvalidError =>
  new DelayInvalidError(
    'manager',
    'its transaction is over: await everything before the handler, or the transaction, ends',
  );
