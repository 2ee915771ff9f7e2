import type { DelayEvents } from '../api/events.js';
import type { Runner } from '../database/runner.js';
import { wasCommitted } from '../database/transaction-status.sql.js';
import { lockedPauseMs, rest, retryPauseMs } from '../tasks/growing-pause.js';
import { Condition, within } from '../tasks/signal.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { HeldClaim, InFlight, Outcome } from './claims.js';

const COMPLETED: Outcome = { kind: 'completed' };

/**
 * Attempts whose COMMIT was sent but not answered. Their rows do not tell whether it happened: a
 * row that is gone was removed by this COMMIT, or by another node that has run the delay since.
 * Postgres knows the status of the transaction.
 */
export class UnansweredCommits {
  /** The attempts of a batch share one query. */
  readonly #asked = new Map<string, Promise<boolean | undefined>>();
  readonly #empty = new Condition();
  readonly #health: TaskHealth;
  #size = 0;
  #isClosed = false;

  /** @param unwritten attempts whose leases are kept */
  constructor(
    private readonly runner: Runner,
    private readonly unwritten: InFlight,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'acknowledge');
  }

  /** Attempts whose COMMIT is still unknown. */
  get size(): number {
    return this.#size;
  }

  /** Passes on the outcome, at once or when Postgres knows of the COMMIT. Not after `close`. */
  known<Claim extends HeldClaim>(
    claim: Claim,
    outcome: Outcome,
    tell: (claim: Claim, outcome: Outcome) => void,
  ): void {
    const { committingIn } = claim;
    const isKnown = outcome.kind === 'completed' || outcome.kind === 'lost';
    if (committingIn === undefined || isKnown) return tell(claim, outcome);
    this.unwritten.add(claim);
    this.#size += 1;
    void this.#ask(committingIn).then((isCommitted) => {
      this.unwritten.delete(claim);
      this.#size -= 1;
      if (isCommitted !== undefined) tell(claim, isCommitted ? COMPLETED : outcome);
      if (this.#size === 0) this.#empty.notify();
    });
  }

  /** Resolves when all are known, or after `withinMs`. */
  async whenEmpty(withinMs: number): Promise<void> {
    if (this.#size > 0) await within(this.#empty.next, withinMs);
  }

  close(): void {
    this.#isClosed = true;
  }

  #ask(transaction: string): Promise<boolean | undefined> {
    let answer = this.#asked.get(transaction);
    if (answer === undefined) {
      answer = this.#find(transaction).finally(() => this.#asked.delete(transaction));
      this.#asked.set(transaction, answer);
    }
    return answer;
  }

  /** Undefined after `close`. A cut session takes time to end, and a COMMIT to reach a replica. */
  async #find(transaction: string): Promise<boolean | undefined> {
    let [looks, failures] = [0, 0];
    while (!this.#isClosed) {
      try {
        const isCommitted = await wasCommitted(this.runner, transaction);
        this.#health.worked();
        if (isCommitted !== undefined) return isCommitted;
        await rest(lockedPauseMs((looks += 1)));
      } catch (error) {
        this.#health.failed(error);
        await this.#health.pause(retryPauseMs((failures += 1)));
      }
    }
    return undefined;
  }
}
