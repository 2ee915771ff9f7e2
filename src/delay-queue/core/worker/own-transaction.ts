import { setTimeout as pause } from 'node:timers/promises';
import type { DelayTransaction } from '../api/delay.js';
import {
  DelayInvalidError,
  DelayLeaseLostError,
  DelayRolledBackError,
  DelayTransactionOverError,
} from '../api/errors.js';
import { LOCK_NOT_AVAILABLE, ServerError, serverErrorIn } from '../database/driver-errors.js';
import { byPurpose } from '../database/prepared-statements.js';
import { given, type Runner } from '../database/runner.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { ForeignTransaction } from '../transactions/foreign-transaction.js';
import type { Attempt, Outcome } from './attempt.js';
import type { Call } from './call.js';
import { type RemovalStore, Removal } from './removal.js';

const SQL = byPurpose({
  status: 'SELECT pg_catalog.pg_xact_status($1::text::pg_catalog.xid8)::text AS status',
});

/** Between two looks at a transaction that has not ended, or at a server that does not answer. */
const LOOKS: Growth = { firstMs: 2, factor: 2, lastMs: 100, jitter: 0.5 };

/**
 * The transactions in which a handler with `transactional: 'own'` completes its delay. Only the server
 * knows whether one has committed: libraries resolve although it rolled back, and reject although it
 * committed.
 */
export class OwnTransaction {
  /** Numbers of those in which the row was removed; a library may begin one again. */
  readonly #numbers = new Set<string>();
  #hasMetLock = false;

  constructor(
    private readonly store: RemovalStore,
    private readonly engine: Runner,
    private readonly call: Call,
  ) {}

  /**
   * Removes the delay in that transaction, or fails it.
   * @throws DelayInvalidError, DelayLeaseLostError, DelayTransactionOverError
   */
  readonly complete = async (tx: DelayTransaction): Promise<void> => {
    if (this.call.over) throw new DelayTransactionOverError();
    const transaction = ForeignTransaction.of(tx);
    const number = await transaction.number();
    this.call.committing(true);
    try {
      await new Removal(this.store, this.call).run(transaction.runner(number));
      this.#numbers.add(number);
    } catch (error) {
      this.#hasMetLock ||= serverErrorIn(error)?.code === LOCK_NOT_AVAILABLE;
      if (error instanceof DelayLeaseLostError && this.#numbers.has(number)) throw isCompleted();
      throw error instanceof ServerError ? error.original : error;
    }
  };

  /** @param outcome what the handler has come to */
  async end(outcome: Outcome): Promise<Outcome> {
    for (const number of this.#numbers) {
      if ((await this.#answer(() => this.#endOf(number))) !== 'committed') continue;
      // A savepoint may have undone the removal.
      if ((await this.#answer(() => this.#isThere())) === false) return { kind: 'completed' };
    }
    this.call.committing(false);
    // Another session holds the row, and keeps it from the next attempt as well.
    if (this.#hasMetLock) return { kind: 'held' };
    if (outcome.kind !== 'completed') return outcome;
    const error = this.#numbers.size === 0 ? notCompleted() : new DelayRolledBackError();
    return { kind: 'failed', error };
  }

  /** @returns undefined while the transaction is open */
  async #endOf(number: string): Promise<string | undefined> {
    const [row] = await this.engine.query<{ status: string | null }>(SQL.status, [number]);
    const { status } = given(row);
    return status === 'in progress' ? undefined : (status ?? 'forgotten');
  }

  async #isThere(): Promise<boolean> {
    const [attempt] = this.call.attempts as readonly [Attempt];
    const rows = await this.store.lookAt([attempt.id]);
    return rows.some(({ epoch }) => epoch === attempt.epoch);
  }

  /** Asks until there is an answer, as long as the attempt has its lease. */
  async #answer<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
    for (let looks = 1; !this.call.over; looks += 1) {
      const answer = await ask().catch(() => undefined);
      if (answer !== undefined) return answer;
      await pause(pauseMs(LOOKS, looks), undefined, { ref: false });
    }
    return undefined;
  }
}

const isCompleted = (): DelayInvalidError =>
  new DelayInvalidError('tx', 'the delay was completed in this transaction before');

const notCompleted = (): DelayInvalidError =>
  new DelayInvalidError(
    'complete',
    'the handler returned without `await ctx.complete(tx)` in its transaction, so the delay runs again',
  );
