import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { AfterQueryEvent, BeforeQueryEvent } from 'typeorm/subscriber/event/QueryEvent.js';
import type { TransactionCommitEvent } from 'typeorm/subscriber/event/TransactionCommitEvent.js';
import type { TransactionRollbackEvent } from 'typeorm/subscriber/event/TransactionRollbackEvent.js';
import { DelayRolledBackError } from '../../delay/delay.errors.js';
import {
  depthOf,
  forgetEnd,
  isAnswered,
  isEnding,
  isInside,
  sends,
  transactionIsOver,
  willRollBack,
} from './ending-transactions.js';
import { SessionWatch, type TransactionEnd } from '../../database/session-watch.js';

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
}

/** Of a transaction in which the library was called. */
interface Pending {
  pieces: Piece[];
  /** Of the session, when the first was left. */
  rollbacksBefore: number;
}

/** Runs work when the caller's transaction commits, and forgets work whose writes were rolled back. */
export class AfterCommit implements EntitySubscriberInterface {
  readonly #pending = new WeakMap<QueryRunner, Pending>();

  constructor(private readonly dataSource: DataSource) {}

  /** TypeORM makes a new list of subscribers at each `initialize()`: this subscriber is put into each of them. */
  start(): void {
    let list = this.dataSource.subscribers;
    list.push(this);
    Object.defineProperty(this.dataSource, 'subscribers', {
      configurable: true,
      enumerable: true,
      get: () => list,
      set: (next: EntitySubscriberInterface[]) => {
        list = next;
        list.push(this);
      },
    });
  }

  stop(): void {
    const value = this.dataSource.subscribers.filter((subscriber) => subscriber !== this);
    const property = { configurable: true, enumerable: true, writable: true, value };
    Object.defineProperty(this.dataSource, 'subscribers', property);
  }

  /** Runs `committed` after the commit of the manager's transaction, or now if there is none. */
  onCommit(manager: EntityManager | undefined, committed: Committed): void {
    const runner = manager?.queryRunner;
    if (runner === undefined) return committed(true);
    const watch = SessionWatch.of(runner);
    if (runner.isTransactionActive || watch?.isOpen) this.#leave(runner, { committed });
    else committed(watch !== undefined);
  }

  /** Runs `rolledBack` if what the manager's transaction does now is rolled back; without one, never. */
  onRollback(manager: EntityManager | undefined, rolledBack: () => void): void {
    const runner = manager?.queryRunner;
    if (runner === undefined) return;
    const isOpen = runner.isTransactionActive || SessionWatch.of(runner)?.isOpen;
    if (isOpen) this.#leave(runner, { rolledBack });
  }

  /** @throws DelayInvalidError, out of a call's statement whose transaction is over before its turn came */
  beforeQuery({ queryRunner, query, parameters }: BeforeQueryEvent): void {
    if (!isInside(parameters)) return sends(queryRunner, query);
    if (isEnding(queryRunner)) throw transactionIsOver();
    this.#pendingOf(queryRunner);
  }

  afterQuery({ queryRunner, query, success }: AfterQueryEvent): void {
    isAnswered(queryRunner, query, !success);
  }

  /** @throws DelayRolledBackError, out of the caller's own `commitTransaction`: the caller believes in its COMMIT */
  afterTransactionCommit({ queryRunner: runner }: TransactionCommitEvent): Promise<void> | void {
    if (runner.isTransactionActive) return this.#savepointReleased(runner);
    forgetEnd(runner);
    const pending = this.#pending.get(runner);
    if (pending === undefined) return undefined;
    const end = SessionWatch.of(runner)?.end ?? 'committed';
    this.#end(runner, end);
    return end === 'committed' ? undefined : Promise.reject(new DelayRolledBackError());
  }

  beforeTransactionRollback({ queryRunner: runner }: TransactionRollbackEvent): void {
    if (depthOf(runner) === 1) willRollBack(runner);
  }

  afterTransactionRollback({ queryRunner: runner }: TransactionRollbackEvent): void {
    if (runner.isTransactionActive) return this.#savepointRolledBack(runner);
    forgetEnd(runner);
    this.#end(runner, 'rolled back');
  }

  #leave(runner: QueryRunner, piece: Omit<Piece, 'depth'>): void {
    const pending = this.#pendingOf(runner);
    if (pending.pieces.length === 0) {
      pending.rollbacksBefore = SessionWatch.of(runner)?.rollbacks ?? 0;
    }
    pending.pieces.push({ ...piece, depth: depthOf(runner) });
  }

  #pendingOf(runner: QueryRunner): Pending {
    let pending = this.#pending.get(runner);
    if (pending === undefined) {
      pending = { pieces: [], rollbacksBefore: 0 };
      this.#pending.set(runner, pending);
      // Begun in plain SQL, the transaction ends in plain SQL: TypeORM tells nothing of its end.
      if (!runner.isTransactionActive) {
        SessionWatch.of(runner)?.onOver((end) => this.#end(runner, end));
      }
    }
    return pending;
  }

  #end(runner: QueryRunner, end: TransactionEnd): void {
    const pending = this.#pending.get(runner);
    if (pending === undefined) return;
    this.#pending.delete(runner);
    const watch = SessionWatch.of(runner);
    const certain = watch?.end === 'committed' && watch.rollbacks === pending.rollbacksBefore;
    for (const { committed, rolledBack } of pending.pieces) {
      if (end === 'committed') committed?.(certain);
      else rolledBack?.();
    }
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
