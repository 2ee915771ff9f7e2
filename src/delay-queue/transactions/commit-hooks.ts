import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { AfterQueryEvent, BeforeQueryEvent } from 'typeorm/subscriber/event/QueryEvent.js';
import type { TransactionCommitEvent } from 'typeorm/subscriber/event/TransactionCommitEvent.js';
import type { TransactionRollbackEvent } from 'typeorm/subscriber/event/TransactionRollbackEvent.js';
import { DelayRolledBackError } from '../api/errors.js';
import { SessionWatch, type TransactionEnd } from '../database/session-watch.js';
import {
  depthOf,
  forgetEnd,
  isAnswered,
  isInside,
  sends,
  transactionNow,
  type TransactionNumber,
  willRollBack,
} from './transaction-end.js';

/**
 * @param certain the server has said COMMIT, and nothing of the transaction was rolled back since the work
 * was left here. Otherwise a savepoint may have taken back what it is about.
 */
export type Committed = (certain: boolean) => void;

/** What waits for the end of a transaction, and inside how many savepoints it was left here. */
interface Piece {
  depth: number;
  committed?: Committed;
  rolledBack?: () => void;
  over?: (end: TransactionEnd) => void;
}

/** Of a transaction in which the library was called. */
interface Pending {
  pieces: Piece[];
  /** Of the session, when the first was left. */
  rollbacksBefore: number;
  /** Asked at its end: who is it that was watched. */
  watch: SessionWatch | undefined;
}

interface Ended {
  end: TransactionEnd;
  /** See {@link Committed}. */
  certain: boolean;
  /** Which one of its session it was. */
  no: TransactionNumber;
}

/**
 * Of a DataSource, shared by all applications that run on it: a TypeORM subscriber that hears how transactions end. It
 * stays as long as one of them runs, or a transaction is open in which one of them was called.
 */
export class TransactionEnds implements EntitySubscriberInterface {
  static of(dataSource: DataSource): TransactionEnds {
    let ends = bySource.get(dataSource);
    if (ends === undefined) bySource.set(dataSource, (ends = new TransactionEnds(dataSource)));
    return ends;
  }

  readonly #pending = new Map<QueryRunner, Pending>();
  /** The last transaction of a runner in which the library was called, until the caller that ended it is told. */
  readonly #ended = new WeakMap<QueryRunner, Ended>();
  /** Ended, and TypeORM has not told of it. */
  readonly #untold = new Set<QueryRunner>();
  readonly #holders = new Set<object>();

  private constructor(private readonly dataSource: DataSource) {}

  hold(holder: object): void {
    this.#holders.add(holder);
    this.#subscribe();
  }

  /** In any order, and as often as one likes. */
  letGo(holder: object): void {
    this.#holders.delete(holder);
    this.#leaveIfDone();
  }

  /** To be called with each call of the library: TypeORM makes a new list of subscribers at each `initialize()`. */
  stay(): void {
    if (this.#holders.size > 0) this.#subscribe();
  }

  /** @returns false when there is no such transaction, and nothing is left */
  leave(runner: QueryRunner, piece: Omit<Piece, 'depth'>): boolean {
    const isOpen = SessionWatch.of(runner)?.isOpen ?? runner.isTransactionActive;
    // The call's answer and its transaction's end came in one packet.
    const ended = this.#pending.has(runner) ? undefined : this.#endedOf(runner);
    if (!isOpen && ended !== undefined) decide(piece, ended);
    else if (!isOpen && !runner.isTransactionActive) return false;
    else {
      const pending = this.#pendingOf(runner);
      if (pending.pieces.length === 0) pending.rollbacksBefore = pending.watch?.rollbacks ?? 0;
      pending.pieces.push({ ...piece, depth: depthOf(runner) });
    }
    return true;
  }

  /** @throws DelayInvalidError, out of a call's statement whose transaction is over before its turn came */
  beforeQuery({ queryRunner: runner, query, parameters }: BeforeQueryEvent): void {
    if (isInside(runner, parameters)) this.#pendingOf(runner);
    else {
      if (!runner.isTransactionActive) this.#ended.delete(runner);
      sends(runner, query);
    }
  }

  /** @throws DelayRolledBackError, out of a COMMIT of the caller's own SQL: TypeORM tells of its own alone */
  afterQuery({ queryRunner: runner, query, success }: AfterQueryEvent): Promise<void> | void {
    const command = isAnswered(runner, query, !success);
    if (!success || (command !== 'COMMIT' && command !== 'END')) return undefined;
    const isTypeOrms = runner.isTransactionActive && !SessionWatch.of(runner)?.isOpen;
    return isTypeOrms ? undefined : this.#tell(runner);
  }

  /** @throws DelayRolledBackError, out of the caller's own `commitTransaction`: the caller believes in its COMMIT */
  afterTransactionCommit({ queryRunner: runner }: TransactionCommitEvent): Promise<void> | void {
    if (runner.isTransactionActive) return this.#savepointReleased(runner);
    forgetEnd(runner);
    // Where the server's messages cannot be seen.
    this.#end(runner, 'committed');
    return this.#tell(runner);
  }

  beforeTransactionRollback({ queryRunner: runner }: TransactionRollbackEvent): void {
    if (depthOf(runner) === 1) willRollBack(runner);
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

  /** Not if another one has ended since. */
  #endedOf(runner: QueryRunner): Ended | undefined {
    const ended = this.#ended.get(runner);
    return ended?.no === transactionNow(runner) ? ended : undefined;
  }

  #pendingOf(runner: QueryRunner): Pending {
    const known = this.#pending.get(runner);
    if (known !== undefined) return known;
    const watch = SessionWatch.of(runner);
    const pending: Pending = { pieces: [], rollbacksBefore: watch?.rollbacks ?? 0, watch };
    this.#pending.set(runner, pending);
    this.#subscribe();
    // The server's word comes before TypeORM's, and also for what was begun, or is ended, in plain SQL.
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

  /** Nothing of the DataSource is replaced: what is replaced can only be put back in the opposite order. */
  #subscribe(): void {
    const { subscribers } = this.dataSource;
    if (!subscribers.includes(this)) subscribers.push(this);
  }

  /** Not now: TypeORM may be walking through the list. */
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

  /** The savepoint is released: the work that was left inside it belongs to the level above now. */
  #savepointReleased(runner: QueryRunner): void {
    const depth = depthOf(runner);
    for (const piece of this.#pending.get(runner)?.pieces ?? []) {
      piece.depth = Math.min(piece.depth, depth);
    }
  }

  #savepointRolledBack(runner: QueryRunner): void {
    const depth = depthOf(runner);
    const pending = this.#pending.get(runner);
    if (pending === undefined) return;
    const undone = pending.pieces.filter((piece) => piece.depth > depth);
    pending.pieces = pending.pieces.filter((piece) => piece.depth <= depth);
    for (const { rolledBack } of undone) rolledBack?.();
  }
}

function decide(piece: Omit<Piece, 'depth'>, { end, certain }: Ended): void {
  const { committed, rolledBack, over } = piece;
  over?.(end);
  if (end === 'rolled back') rolledBack?.();
  else committed?.(certain);
}

const bySource = new WeakMap<DataSource, TransactionEnds>();

/** Runs work of one application when the caller's transaction commits, and forgets work whose writes were rolled back. */
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

  /** Runs `committed` after the commit of the manager's transaction, or now if there is none. */
  onCommit(manager: EntityManager | undefined, committed: Committed): void {
    const runner = manager?.queryRunner;
    if (runner === undefined) return committed(true);
    const unlessStopped: Committed = (certain) => {
      if (!this.#isStopped) committed(certain);
    };
    const isLeft = this.#ends.leave(runner, { committed: unlessStopped });
    if (!isLeft) committed(SessionWatch.of(runner) !== undefined);
  }

  /** Runs `rolledBack` if what the manager's transaction does now is rolled back; without one, never. */
  onRollback(manager: EntityManager | undefined, rolledBack: () => void): void {
    const runner = manager?.queryRunner;
    if (runner !== undefined) this.#ends.leave(runner, { rolledBack });
  }
}
