import type { QueryResult } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayLeaseLostError } from '../api/errors.js';
import type { Runner } from '../database/runner.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { wakeOfRecurred } from '../store/rows/answers.js';
import { AttemptSession, type SessionsEngine } from '../transactions/attempt-session.js';
import { isRolledBack } from '../transactions/handlers-client.js';
import { TransactionGuard } from '../transactions/transaction-guard.js';
import type { Attempt, Outcome } from './attempt.js';
import type { Call } from './call.js';
import { COMPLETED, recurringOf, UNREADABLE } from './completer.js';

/**
 * Whether transactions of attempts name READ COMMITTED: not until a session begins with another
 * level. Naming it costs one more statement, and nearly all sessions begin with that level.
 */
export class IsolationLevel {
  #stated: 'READ COMMITTED' | undefined;

  /** The level that the next transaction names; undefined: the session's own. */
  get stated(): 'READ COMMITTED' | undefined {
    return this.#stated;
  }

  /** A session began with another level: from now on each transaction names its level. */
  state(): void {
    this.#stated = 'READ COMMITTED';
  }
}

/** How the rows of a transactional call leave it: removed, or moved to their next instant. */
class Removal {
  readonly #once: readonly Attempt[];
  readonly #recurring: readonly Attempt[];

  constructor(
    private readonly store: Pick<AttemptStore, 'complete' | 'recur' | 'retry'>,
    private readonly call: Call,
  ) {
    const { completing } = call;
    this.#once = completing.filter((attempt) => isOnce(attempt));
    this.#recurring = completing.filter((attempt) => !isOnce(attempt));
  }

  /**
   * Throws when the handler swallowed an SQL error: the transaction is aborted then, and COMMIT
   * would silently roll back.
   *
   * @throws DelayLeaseLostError when a row no longer belonged to this call
   */
  async run(runner: Runner): Promise<void> {
    const moved = this.#recurring.length === 0 ? [] : await this.#goOn(runner);
    const removed = this.#once.length === 0 ? [] : await this.#complete(runner);
    const left = new Set([...moved, ...removed]);
    for (const attempt of [...this.#once, ...this.#recurring]) {
      // The row was still there: the handler's reschedule was rolled back to a savepoint.
      if (left.has(attempt.id)) attempt.movedOn = false;
      else if (!attempt.movedOn) throw new DelayLeaseLostError();
    }
  }

  #complete(runner: Runner): Promise<number[]> {
    const { onDead } = this.call;
    if (onDead !== null) return onDead.deadLetter(this.#once, this.store, runner);
    // Without COMMIT when there are recurring rows: these are checked after this statement.
    const beside: Runner = { query: (sql, parameters) => runner.query(sql, parameters) };
    return this.store.complete(this.#once, this.#recurring.length === 0 ? runner : beside);
  }

  /** @throws when the next instant is unknown: the attempt has failed then */
  async #goOn(runner: Runner): Promise<number[]> {
    const items = this.#recurring.map((attempt) => {
      const item = recurringOf(attempt, attempt.onDead?.ends ?? COMPLETED);
      if (item === undefined) throw new Error(UNREADABLE);
      attempt.skipped = item.skipped;
      return item;
    });
    const rows = await this.store.recur(items, runner);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const attempt of this.#recurring) {
      const row = byId.get(attempt.id);
      attempt.goesOn = row && wakeOfRecurred(row);
    }
    return [...byId.keys()];
  }
}

/** The last run of a recurrence becomes a dead letter as a delay does that is due once. */
function isOnce(attempt: Attempt): boolean {
  const { occurrence, onDead } = attempt;
  if (occurrence === null || onDead === null) return occurrence === null;
  const item = recurringOf(attempt, onDead.ends);
  return item !== undefined && item.nextMs === undefined;
}

export interface FencedParts {
  dataSource: DataSource;
  store: Pick<AttemptStore, 'fence' | 'complete' | 'recur' | 'retry'>;
  engine: SessionsEngine;
  isolation: IsolationLevel;
}

/**
 * The transaction of one transactional call: first the fence, then the handler, last the removal of
 * its rows. Effects on the database happen exactly once, because they commit together with the
 * removal, and the removal must report every row.
 */
export class FencedTransaction {
  readonly #runner: QueryRunner;
  readonly #session: AttemptSession;

  constructor(
    private readonly parts: FencedParts,
    private readonly call: Call,
  ) {
    this.#runner = parts.dataSource.createQueryRunner();
    this.#session = new AttemptSession(this.#runner, parts.engine);
  }

  cut(): void {
    this.#session.cut();
  }

  /** The server's process, once the fence is answered. */
  get pid(): number | undefined {
    return this.#session.known?.pid;
  }

  /** @param handle called only if the transaction holds its rows */
  async run(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    try {
      const unbegun = await this.#begin();
      return unbegun ?? (await this.#work(handle));
    } finally {
      await this.#session.leave();
    }
  }

  get #leaseLeftMs(): number {
    return this.call.leaseEndsAtMs - performance.now();
  }

  /** @returns the outcome of a call that could not begin */
  async #begin(): Promise<Outcome | undefined> {
    try {
      await this.#session.connect();
      // Cut while it waited for a connection.
      if (this.call.over) return LOST;
      if (await this.#beginFenced()) return undefined;
      // Over only by this node's clock: the row may still have its claim, which is then given back.
      const isOver = this.#leaseLeftMs <= 0;
      return await this.#rollback(isOver ? unbegun(new DelayLeaseLostError()) : LOST);
    } catch (error) {
      return await this.#rollback(unbegun(error));
    }
  }

  async #work(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    try {
      const outcome = await this.#guarded(handle);
      // The application closed its pool: the delay may run again, whatever the handler did.
      if (this.#session.isTaken) return await this.#rollback({ kind: 'released' });
      if (outcome.kind !== 'completed') return await this.#rollback(outcome);
      // Cut, and the handler resolved anyway: another outcome is decided already.
      if (this.call.over) return await this.#rollback(LOST);
      return await this.#commit();
    } catch (error) {
      return await this.#rollback({ kind: 'failed', error });
    }
  }

  async #guarded(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    const guard = new TransactionGuard(
      this.#runner,
      this.#session.client,
      () => this.#session.isEnded,
      this.#removeAndCommit,
    );
    this.#session.guardedBy(guard);
    this.call.manager = this.#runner.manager;
    const outcome = await handle();
    const { objection, isUsable } = await guard.end(outcome.kind === 'completed');
    // The handler left something open: the connection cannot go back to the pool.
    if (!isUsable) this.#session.close();
    const hasWorked = objection === undefined || outcome.kind !== 'completed';
    return hasWorked ? outcome : { kind: 'failed', error: objection };
  }

  /** @returns whether the transaction holds at least one of its rows */
  async #beginFenced(): Promise<boolean> {
    if (this.#isTooLate) return false;
    const { store, isolation, dataSource } = this.parts;
    const { stated } = isolation;
    const fence = await this.#session.begin(stated ?? dataSource.options.isolationLevel, (runner) =>
      store.fence(runner, this.call.attempts, this.#leaseLeftMs),
    );
    // By the level that this transaction named: another one may have called `state` meanwhile.
    if (!fence.isReadCommitted && stated === undefined) {
      isolation.state();
      await this.#runner.rollbackTransaction();
      return this.#beginFenced();
    }
    this.#session.fenced(fence);
    // Again: the answer may have taken longer than the lease, and the session may have ended.
    if (this.#isTooLate) return false;
    return this.call.keepOnly(new Set(fence.ids));
  }

  get #isTooLate(): boolean {
    return this.call.over || this.#leaseLeftMs <= 0;
  }

  /** Replaces TypeORM's COMMIT: the rows are removed in the same round trip, or shortly before. */
  readonly #removeAndCommit = (): Promise<QueryResult> => {
    const removal = new Removal(this.parts.store, this.call);
    return this.#session.commit(
      (runner) => removal.run(runner),
      () => {
        // Cut meanwhile: another outcome is decided already.
        if (this.call.over) throw new DelayLeaseLostError();
        this.call.committing(this.#session.known?.transaction);
      },
    );
  };

  async #commit(): Promise<Outcome> {
    try {
      await this.#session.commitBy(this.#removeAndCommit);
      return { kind: 'completed' };
    } catch (error) {
      // The server reported the rollback: no need to find out whether it was committed.
      if (isRolledBack(error)) this.call.committing(undefined);
      // COMMIT may never have been sent: no open transaction may go back to the pool.
      return await this.#rollback({ kind: 'failed', error });
    }
  }

  async #rollback(outcome: Outcome): Promise<Outcome> {
    try {
      if (this.#runner.isTransactionActive) {
        await this.#session.byEngine(() => this.#runner.rollbackTransaction());
      }
    } catch {
      // The session is gone, and its transaction with it.
    }
    return outcome;
  }
}

const LOST: Outcome = { kind: 'lost' };

const unbegun = (error: unknown): Outcome => ({ kind: 'unbegun', error, waitMs: 0 });
