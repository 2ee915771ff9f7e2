import { type AttemptEndEvent, type DelayEvents, withCause } from '../delay/delay.events.js';
import { describeError } from '../delay/error-text.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Retry } from '../store/wire/attempt-rows.js';
import type { Wake } from '../store/wire/wakes.js';
import type { HeldClaim } from './held-claim.js';
import type { Outcome } from './outcome.js';
import { Batcher } from './batcher.js';
import { InFlight } from './in-flight.js';
import { Signal } from '../tasks/signal.js';
import { Trouble } from '../tasks/trouble.js';

/** What ends an attempt whose delay stays, without the attempt's own id and epoch. */
type Ending = Omit<Retry, 'id' | 'epoch'>;

const GIVE_BACK: Ending = { waitMs: 0, movesDue: false, refund: 1, error: null };

/** Writes down how attempts ended, in batches that wait for nobody, each write fenced by epoch. */
export class Acknowledger {
  /** Where a delay waits now whose attempt has ended. */
  readonly waits = new Signal<Wake>();
  /** Something was written down: who waited for room may go on. */
  readonly wrote = new Signal();
  readonly #completions: Batcher<HeldClaim>;
  readonly #retries: Batcher<Retry>;
  /** Attempts that ended and are not written down: their rows are still theirs. */
  readonly unwritten = new InFlight();

  constructor(
    store: AttemptStore,
    private readonly events: DelayEvents,
  ) {
    const lookAt = (ids: readonly number[]) => store.lookAt(ids);
    // One each: while the one fails the other may work.
    const trouble = (): Trouble => new Trouble(events, 'acknowledge');
    const complete = (items: readonly HeldClaim[]) => store.complete(items);
    const retry = async (items: readonly Retry[]): Promise<number[]> => {
      const rows = await store.retry(items);
      for (const { id, epoch, name, failed, wake_ms: wakeMs } of rows) {
        if (wakeMs !== null) {
          this.waits.tell({ id, epoch, name, wakeMs, stalled: false, failed });
        }
      }
      return rows.map((row) => row.id);
    };
    const node = store.nodeName;
    const onProgress = (): void => this.wrote.tell();
    this.#completions = new Batcher({
      node,
      write: complete,
      lookAt,
      trouble: trouble(),
      onProgress,
    });
    this.#retries = new Batcher({
      node,
      write: retry,
      lookAt,
      trouble: trouble(),
      onProgress,
    });
  }

  /** Attempts that ended and are not written down yet. */
  get size(): number {
    return this.#completions.size + this.#retries.size;
  }

  /** Takes over an attempt whose outcome is decided. */
  report(attempt: HeldClaim, outcome: Outcome): void {
    attempt.durationMs = performance.now() - attempt.calledAtMs;
    switch (outcome.kind) {
      case 'completed':
        return this.#complete(attempt);
      case 'failed':
        return this.#fail(attempt, outcome);
      case 'split': {
        const error = describeError(outcome.error);
        return this.#retry(attempt, { ...GIVE_BACK, error }, () =>
          this.events.emit('split', withCause({ ...endOf(attempt), error }, outcome.error)),
        );
      }
      case 'discarded':
        return this.#deadLetter(attempt, outcome.reason);
      case 'postponed':
        return this.#retry(
          attempt,
          { waitMs: outcome.waitMs, movesDue: true, refund: 1, error: null },
          () => this.events.emit('postponed', { ...endOf(attempt), waitMs: outcome.waitMs }),
        );
      case 'unbegun':
        return this.#retry(attempt, { ...GIVE_BACK, waitMs: outcome.waitMs }, () => {});
      case 'released':
        return this.#retry(attempt, GIVE_BACK, () => this.events.emit('released', attempt.event));
      case 'lost':
        this.events.emit('lost', attempt.event);
    }
  }

  /**
   * Gives back a claimed row whose handler was not called.
   * @param onGivenBack told when the row is given back, or was never this node's
   */
  giveBack(id: number, epoch: number, onGivenBack: () => void = () => {}): void {
    this.#retries.add({ id, epoch, ...GIVE_BACK }, onGivenBack);
  }

  /** Resolves when everything is written down, or after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    await Promise.all([this.#completions.whenEmpty(withinMs), this.#retries.whenEmpty(withinMs)]);
  }

  /** What is not written down by now never is: the leases of those rows will end. */
  close(): void {
    this.#completions.close();
    this.#retries.close();
  }

  #complete(attempt: HeldClaim): void {
    // A transactional attempt removed its row itself, in its own transaction.
    if (attempt.handler.transactional) {
      this.events.emit(attempt.movedOn ? 'superseded' : 'completed', endOf(attempt));
      return;
    }
    this.unwritten.add(attempt);
    this.#completions.add(attempt, this.#completed);
  }

  readonly #completed = (result: 'written' | 'gone', attempt: HeldClaim): void => {
    this.unwritten.delete(attempt);
    if (result === 'gone') this.#gone(attempt);
    else if (this.events.isHeard('completed')) this.events.emit('completed', endOf(attempt));
  };

  #fail(attempt: HeldClaim, outcome: Outcome & { kind: 'failed' }): void {
    const { error: cause } = outcome;
    const { attempts, max_attempts: maxAttempts } = attempt.row;
    if (attempts >= maxAttempts) return this.#deadLetter(attempt, cause);
    const error = describeError(cause);
    const waitMs = attempt.handler.backoffMs(attempts);
    this.#retry(attempt, { waitMs, movesDue: false, refund: 0, error }, () =>
      this.events.emit('retrying', withCause({ ...endOf(attempt), error, waitMs }, cause)),
    );
  }

  #deadLetter(attempt: HeldClaim, cause: unknown): void {
    const error = describeError(cause);
    const onWritten = (): void => {
      const { id, name, key, attempt: number, durationMs } = endOf(attempt);
      const of = { id, name, key, attempt: number, error, durationMs };
      this.events.emit('dead', withCause(of, cause));
    };
    this.#retry(attempt, { waitMs: null, movesDue: false, refund: 0, error }, onWritten);
  }

  #retry(attempt: HeldClaim, ending: Ending, onWritten: () => void): void {
    const { id, epoch } = attempt;
    this.unwritten.add(attempt);
    this.#retries.add({ id, epoch, ...ending }, (result) => {
      this.unwritten.delete(attempt);
      if (result === 'written') onWritten();
      // The attempt was cut, or its connection broke, at COMMIT; the row is gone: it was committed.
      else if (attempt.committing) this.events.emit('completed', endOf(attempt));
      else this.#gone(attempt);
    });
  }

  #gone(attempt: HeldClaim): void {
    if (attempt.movedOn) this.events.emit('superseded', endOf(attempt));
    else this.events.emit('lost', attempt.event);
  }
}

const endOf = ({ event, durationMs }: HeldClaim): AttemptEndEvent => ({ ...event, durationMs });
