import type { PoolClient } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayLeaseLostError, DelayRolledBackError } from '../../delay/delay.errors.js';
import type { Runner } from '../../store/wire/runner.js';
import { endSessionSql } from '../../store/sql/attempts/fence.sql.js';
import type { WorkStore } from '../../store/work.store.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Call } from '../call/call.js';
import type { EngineConnections } from '../../database/engine-connections.js';
import { TransactionGuard } from './transaction-guard.js';

export interface FencedParts {
  dataSource: DataSource;
  store: WorkStore;
  /** What ends a session that does not answer is sent over a connection of its own. */
  engine: Runner & Pick<EngineConnections, 'on'>;
  /** To say the level is a statement more. Nearly all sessions begin with it, and the fence tells. */
  isolation: { level: 'READ COMMITTED' | undefined };
}

/**
 * The transaction of one transactional call: the fence first, the handler in between, the removal of
 * its rows last. Effects on the database happen exactly once, because they commit together with the
 * removal, and the removal must report every row.
 */
export class FencedTransaction {
  readonly #runner: QueryRunner;
  #client: PoolClient | undefined;
  #guard: TransactionGuard | undefined;
  #session: { pid: number; began: string } | undefined;
  #sessionEnd: Promise<void> | undefined;
  #isReleased = false;

  constructor(
    private readonly parts: FencedParts,
    private readonly call: Call,
  ) {
    this.#runner = parts.dataSource.createQueryRunner();
  }

  /** The call was cut: nobody waits for this transaction any more. */
  cut(): void {
    this.#guard?.seal();
    this.#sessionEnd = this.#endSession();
  }

  /** @param handle is not called unless the transaction holds its rows */
  async run(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    try {
      const unbegun = await this.#begin();
      return unbegun ?? (await this.#work(handle));
    } finally {
      // Not while its end is on the way, which would hit whoever gets the connection next.
      await this.#sessionEnd;
      await this.#release();
    }
  }

  get #leaseLeftMs(): number {
    return this.call.leaseEndsAtMs - performance.now();
  }

  /** @returns what became of the call when it could not begin */
  async #begin(): Promise<Outcome | undefined> {
    try {
      this.#client = (await this.#runner.connect()) as PoolClient;
      // Cut while it waited for a connection: nobody wants this transaction any more.
      if (this.call.over) return LOST;
      await this.#runner.startTransaction(this.parts.isolation.level);
      if (await this.#fence()) return undefined;
      // By its own clock alone: the row may still have its claim, and is then given back.
      const isOver = this.#leaseLeftMs <= 0;
      return await this.#rollback(isOver ? unbegun(new DelayLeaseLostError()) : LOST);
    } catch (error) {
      return await this.#rollback(unbegun(error));
    }
  }

  async #work(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    try {
      const outcome = await this.#guarded(handle);
      if (outcome.kind !== 'completed') return await this.#rollback(outcome);
      // Cut, and its handler resolved all the same: it has been decided otherwise.
      if (this.call.over) return await this.#rollback(LOST);
      if (!(await this.#removeRows())) {
        return await this.#rollback({ kind: 'failed', error: new DelayLeaseLostError() });
      }
      if (this.call.over) return await this.#rollback(LOST);
      return await this.#commit();
    } catch (error) {
      return await this.#rollback({ kind: 'failed', error });
    }
  }

  async #guarded(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    const guard = new TransactionGuard(this.#runner, this.#client as PoolClient);
    this.#guard = guard;
    this.call.manager = this.#runner.manager;
    const outcome = await handle();
    const { objection, isUsable } = await guard.end(outcome.kind === 'completed');
    // Whatever it left open, the connection cannot go back to the pool with it.
    if (!isUsable) this.#close();
    const hasWorked = objection === undefined || outcome.kind !== 'completed';
    return hasWorked ? outcome : { kind: 'failed', error: objection };
  }

  async #fence(): Promise<boolean> {
    if (this.call.over) return false;
    if (this.#leaseLeftMs <= 0) return false;
    const { store, isolation } = this.parts;
    const fence = await store.fence(this.#asRunner(), this.call.attempts, this.#leaseLeftMs);
    if (!fence.isReadCommitted && isolation.level === undefined) {
      isolation.level = 'READ COMMITTED';
      await this.#runner.rollbackTransaction();
      await this.#runner.startTransaction(isolation.level);
      return this.#fence();
    }
    this.#session = fence;
    // Once more: the answer may have waited longer than the lease, and the session have ended.
    if (this.call.over || this.#leaseLeftMs <= 0) return false;
    return this.call.keepOnly(new Set(fence.ids));
  }

  /**
   * The last statement. It throws when the handler swallowed an SQL error, for then the transaction
   * is aborted and COMMIT would silently roll back.
   */
  async #removeRows(): Promise<boolean> {
    const { completing } = this.call;
    const removed = new Set(await this.parts.store.complete(completing, this.#asRunner()));
    for (const attempt of completing) {
      // It stood where it was: a move to another time was rolled back to a savepoint.
      if (removed.has(attempt.id)) attempt.movedOn = false;
      else if (!attempt.movedOn) return false;
    }
    return true;
  }

  async #commit(): Promise<Outcome> {
    this.call.committing(true);
    try {
      await this.#byEngine(() => this.#runner.commitTransaction());
      return { kind: 'completed' };
    } catch (error) {
      // The server said so: nobody need look whether it was committed after all.
      if (error instanceof DelayRolledBackError) this.call.committing(false);
      // Perhaps COMMIT was never sent: no open transaction may go back to the pool.
      return await this.#rollback({ kind: 'failed', error });
    }
  }

  async #rollback(outcome: Outcome): Promise<Outcome> {
    try {
      if (this.#runner.isTransactionActive) {
        await this.#byEngine(() => this.#runner.rollbackTransaction());
      }
    } catch {
      // The session is gone, and the transaction with it.
    }
    return outcome;
  }

  /**
   * The attempt was cut: its session ends, so that its locks are free before the row is given to
   * another attempt. Not by a cancel request, which could hit whoever has the connection next.
   *
   * Then this side lets go too: on a connection that died silently the handler's statement, or the
   * ROLLBACK after it, would wait for ever, and the pool would be one connection short.
   */
  async #endSession(): Promise<void> {
    if (this.#client === undefined || this.#isReleased || this.#runner.isReleased) return;
    try {
      if (this.#session !== undefined) {
        const { pid, began } = this.#session;
        await this.parts.engine.query(endSessionSql(), [pid, began]);
      }
    } catch {
      // Then idle_in_transaction_session_timeout ends it.
    }
    this.#close();
    // Now, since a handler that never returns would keep its place in the pool.
    await this.#release();
  }

  #release(): Promise<void> {
    this.#isReleased = true;
    return this.#guard ? this.#guard.release() : this.#runner.release();
  }

  #byEngine<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#guard ? this.#guard.byEngine(work) : work();
  }

  /** Not awaited: what is closed tells no more when nobody answers. The pool drops it. */
  #close(): void {
    void this.#client?.end();
  }

  /** Past the handler's guard, and past TypeORM, which would send each text anew. */
  #asRunner(): Runner {
    return this.parts.engine.on(this.#client as PoolClient);
  }
}

const LOST: Outcome = { kind: 'lost' };

const unbegun = (error: unknown): Outcome => ({ kind: 'unbegun', error, waitMs: 0 });
