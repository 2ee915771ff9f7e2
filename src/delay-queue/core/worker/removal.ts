import { DelayLeaseLostError } from '../api/errors.js';
import type { Runner } from '../database/runner.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { recurredWake } from '../store/sql/recurrences.sql.js';
import type { Attempt } from './attempt.js';
import type { Call } from './call.js';
import { COMPLETED, endOccurrence, UNREADABLE } from './occurrence-end.js';

export type RemovalStore = Pick<
  AttemptStore,
  'hold' | 'complete' | 'lookAt' | 'remove' | 'recur' | 'retry'
>;

/** How the rows of a transactional call leave it: removed, or moved to their next instant. */
export class Removal {
  constructor(
    private readonly store: RemovalStore,
    private readonly call: Call,
  ) {}

  /**
   * Throws when the handler swallowed an SQL error: the transaction is aborted then, and COMMIT
   * would silently roll back.
   *
   * @throws DelayLeaseLostError when a row no longer belonged to this call
   */
  async run(runner: Runner): Promise<void> {
    const { completing, onDead } = this.call;
    if (completing.length === 0) return;
    if (onDead === null && completing.every((attempt) => !attempt.movedOn && isOnce(attempt))) {
      if (await this.store.remove(completing, runner)) return;
      throw new DelayLeaseLostError();
    }
    // Checked after their statements, so COMMIT goes alone.
    await this.#inSteps({ query: (sql, parameters) => runner.query(sql, parameters) });
  }

  /** Where rows move on or stay, as dead letters or by the handler's own reschedule. */
  async #inSteps(runner: Runner): Promise<void> {
    const { completing } = this.call;
    const recurring = completing.filter((attempt) => !isOnce(attempt));
    const once = completing.filter((attempt) => isOnce(attempt));
    await this.store.hold(completing, runner);
    const moved = recurring.length === 0 ? [] : await this.#goOn(recurring, runner);
    const removed = once.length === 0 ? [] : await this.#end(once, runner);
    const left = new Set([...moved, ...removed]);
    for (const attempt of [...once, ...recurring]) {
      // The row was still there: the handler's reschedule was rolled back to a savepoint.
      if (left.has(attempt.id)) attempt.movedOn = false;
      else if (!attempt.movedOn) throw new DelayLeaseLostError();
    }
  }

  #end(once: readonly Attempt[], runner: Runner): Promise<number[]> {
    const { onDead } = this.call;
    if (onDead !== null) return onDead.deadLetter(once, this.store, runner);
    return this.store.complete(once, runner);
  }

  /** @throws when the next instant is unknown: the attempt has failed then */
  async #goOn(recurring: readonly Attempt[], runner: Runner): Promise<number[]> {
    const items = recurring.map((attempt) => {
      const item = endOccurrence(attempt, attempt.onDead?.ends ?? COMPLETED);
      if (item === undefined) throw new Error(UNREADABLE);
      attempt.skipped = item.skipped;
      return item;
    });
    const rows = await this.store.recur(items, runner);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const attempt of recurring) {
      const row = byId.get(attempt.id);
      attempt.goesOn = row && recurredWake(row);
    }
    return [...byId.keys()];
  }
}

/** The last run of a recurrence becomes a dead letter as a delay does that is due once. */
function isOnce(attempt: Attempt): boolean {
  const { occurrence, onDead } = attempt;
  if (occurrence === null || onDead === null) return occurrence === null;
  const item = endOccurrence(attempt, onDead.ends);
  return item !== undefined && item.nextMs === undefined;
}
