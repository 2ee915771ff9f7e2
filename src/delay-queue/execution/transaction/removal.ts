import { DelayLeaseLostError } from '../../delay/delay.errors.js';
import { recurringOf, UNREADABLE } from '../../settlement/recurrences.js';
import type { AttemptStore } from '../../store/attempt.store.js';
import { wakeOfRecurred } from '../../store/wire/recurring.js';
import type { Runner } from '../../store/wire/runner.js';
import type { Attempt } from '../call/attempt.js';
import type { Call } from '../call/call.js';

/** How the rows of a transactional call leave its transaction: removed, or moved on to their next instant. */
export class Removal {
  readonly #once: readonly Attempt[];
  readonly #recurring: readonly Attempt[];

  constructor(
    private readonly store: Pick<AttemptStore, 'complete' | 'recur'>,
    call: Call,
  ) {
    const { completing } = call;
    this.#once = completing.filter(({ occurrence }) => occurrence === null);
    this.#recurring = completing.filter(({ occurrence }) => occurrence !== null);
  }

  /**
   * It throws when the handler swallowed an SQL error, for then the transaction is aborted and COMMIT would
   * silently roll back.
   *
   * @throws DelayLeaseLostError when a row was not this call's any more
   */
  async run(runner: Runner): Promise<void> {
    const moved = await this.#goOn(runner);
    const left = new Set([...moved, ...(await this.#complete(runner))]);
    for (const attempt of [...this.#once, ...this.#recurring]) {
      // It stood where it was: a move to another time was rolled back to a savepoint.
      if (left.has(attempt.id)) attempt.movedOn = false;
      else if (!attempt.movedOn) throw new DelayLeaseLostError();
    }
  }

  async #complete(runner: Runner): Promise<number[]> {
    if (this.#once.length === 0) return [];
    // Beside others it may not be the last word: what became of those is looked at afterwards.
    const beside: Runner = { query: (sql, parameters) => runner.query(sql, parameters) };
    return await this.store.complete(this.#once, this.#recurring.length === 0 ? runner : beside);
  }

  /** @throws when it is unknown where: then the attempt has failed */
  async #goOn(runner: Runner): Promise<number[]> {
    if (this.#recurring.length === 0) return [];
    const items = this.#recurring.map((attempt) => {
      const item = recurringOf(attempt, attempt.ends);
      if (item === undefined) throw new Error(UNREADABLE);
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
