import type { DataSource } from 'typeorm';
import { DelayLeaseLostError } from '../api/errors.js';
import { isRefusedByServer, LOCK_NOT_AVAILABLE, readSqlState } from '../database/driver-errors.js';
import { AttemptSession, type SessionsEngine } from '../transactions/attempt-session.js';
import { isRolledBack } from '../transactions/handlers-client.js';
import type { Outcome } from './attempt.js';
import type { Call } from './call.js';
import { type RemovalStore, Removal } from './removal.js';

interface FencedParts {
  dataSource: DataSource;
  store: RemovalStore;
  connections: SessionsEngine;
}

/**
 * The transaction of one transactional call: first the handler, last the removal of its rows, which is
 * the fence. Effects on the database happen exactly once, because they commit together with the
 * removal, and the removal must report every row.
 */
export class FencedTransaction {
  #session: AttemptSession | undefined;

  constructor(
    private readonly parts: FencedParts,
    private readonly call: Call,
  ) {}

  /** Without a session yet, the transaction does not begin: the call is over. */
  cut(): void {
    this.#session?.cut();
  }

  /** @param handle called only if its transaction can begin before the lease is over */
  async run(handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    let session: AttemptSession;
    try {
      session = await AttemptSession.open(this.parts.dataSource, this.parts.connections);
    } catch (error) {
      return unbegun(error);
    }
    try {
      // Cut while it waited for the session.
      if (this.call.over) return LOST;
      this.#session = session;
      return (await this.#begin(session)) ?? (await this.#work(session, handle));
    } finally {
      await session.leave();
    }
  }

  /** @returns the outcome of a call that could not begin */
  async #begin(session: AttemptSession): Promise<Outcome | undefined> {
    const leaseLeftMs = (): number => this.call.leaseEndsAtMs - performance.now();
    try {
      await session.begin(this.call.handler.leaseMs);
      this.call.pid = session.pid;
      if (this.call.over) return await this.#rollback(session, LOST);
      if (leaseLeftMs() > 0) return undefined;
      // Over only by this node's clock: the row may still have its claim, which is then given back.
      return await this.#rollback(session, unbegun(new DelayLeaseLostError()));
    } catch (error) {
      return await this.#rollback(session, unbegun(error));
    }
  }

  async #work(session: AttemptSession, handle: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    try {
      const outcome = await this.#guarded(session, handle);
      if (outcome.kind !== 'completed') return await this.#rollback(session, outcome);
      // Cut, and the handler resolved anyway: another outcome is decided already.
      if (this.call.over) return await this.#rollback(session, LOST);
      return await this.#commit(session);
    } catch (error) {
      return await this.#rollback(session, { kind: 'failed', error });
    }
  }

  async #guarded(
    session: AttemptSession,
    handle: () => Outcome | Promise<Outcome>,
  ): Promise<Outcome> {
    const { guard } = session;
    this.call.manager = session.runner.manager;
    this.call.client = () => guard.handlersClient;
    const outcome = await handle();
    const { objection, isUsable } = await guard.end(outcome.kind === 'completed');
    // The handler left something open: the connection cannot go back to the pool.
    if (!isUsable) session.close();
    const hasWorked = objection === undefined || outcome.kind !== 'completed';
    return hasWorked ? outcome : { kind: 'failed', error: objection };
  }

  async #commit(session: AttemptSession): Promise<Outcome> {
    try {
      const removal = new Removal(this.parts.store, this.call);
      await session.commit(
        (runner) => removal.run(runner),
        () => {
          // Cut meanwhile: another outcome is decided already.
          if (this.call.over) throw new DelayLeaseLostError();
          this.call.committing(true);
        },
      );
      return { kind: 'completed' };
    } catch (error) {
      // The server has rolled back: whether COMMIT happened is not in question.
      if (isRolledBack(error) || isRefusedByServer(error)) this.call.committing(false);
      // Another transaction holds a row, and keeps it from the next attempt as well.
      const outcome: Outcome =
        readSqlState(error) === LOCK_NOT_AVAILABLE ? { kind: 'held' } : { kind: 'failed', error };
      // COMMIT may never have been sent: no open transaction may go back to the pool.
      return await this.#rollback(session, outcome);
    }
  }

  async #rollback(session: AttemptSession, outcome: Outcome): Promise<Outcome> {
    await session.rollback();
    const isSessions = outcome.kind === 'failed' && !this.call.over && (await session.isToBlame());
    return isSessions ? unbegun(outcome.error) : outcome;
  }
}

const LOST: Outcome = { kind: 'lost' };

const unbegun = (error: unknown): Outcome => ({ kind: 'unbegun', error, waitMs: 0 });
