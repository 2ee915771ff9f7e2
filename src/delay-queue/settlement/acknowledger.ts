import { type DelayEvents, withCause } from '../delay/delay.events.js';
import { describeError } from '../delay/error-text.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Runner } from '../store/wire/runner.js';
import type { Recurring } from '../store/wire/recurring.js';
import type { Wake } from '../store/wire/wakes.js';
import type { HeldClaim } from './held-claim.js';
import { ABORTED, failed, GIVE_BACK, postponed, RELEASED } from './outcome.js';
import type { Ending, Outcome } from './outcome.js';
import type { Batcher, Written } from './batcher.js';
import { batchersOf } from './batchers.js';
import { DyingClaims } from './dying-claims.js';
import { deadEvent, endOf } from './end-events.js';
import { InFlight } from './in-flight.js';
import { COMPLETED, recurringOf, UNREADABLE } from './recurrences.js';
import { Signal } from '../tasks/signal.js';
import { UnansweredCommits } from './unanswered-commits.js';

/** Writes down how attempts ended, in batches that wait for no row, each write fenced by epoch. */
export class Acknowledger {
  /** Where a delay waits now whose attempt has ended. */
  readonly waits = new Signal<Wake>();
  /** An attempt of a name with limits is over, and its row no longer its own: it counts for them no more. */
  readonly freed = new Signal<HeldClaim>();
  /** Something was written down: who waited for room may go on. */
  readonly wrote = new Signal();
  readonly batchers: Omit<ReturnType<typeof batchersOf>, 'unread'>;
  /** What this node cannot read, and leaves to others. */
  readonly unread: ReturnType<typeof batchersOf>['unread'];
  /** Attempts that ended and are not written down: their rows are still theirs. */
  readonly unwritten = new InFlight();
  readonly dying = new DyingClaims(this.unwritten);
  readonly commits: UnansweredCommits;
  readonly #all;

  constructor(
    store: AttemptStore,
    runner: Runner,
    private readonly events: DelayEvents,
    aliveMs: number,
  ) {
    const { unread, ...batchers } = batchersOf(store, this.waits, this.wrote, { events, aliveMs });
    this.batchers = batchers;
    this.unread = unread;
    this.commits = new UnansweredCommits(runner, this.unwritten, events);
    this.#all = [unread.batcher, ...Object.values(batchers), this.dying, this.commits];
  }

  /** Attempts that ended and are not written down yet. */
  get size(): number {
    return this.#all.reduce((size, each) => size + each.size, 0);
  }

  /** Takes over an attempt whose outcome is decided. */
  report(attempt: HeldClaim, outcome: Outcome): void {
    attempt.durationMs = performance.now() - attempt.calledAtMs;
    this.commits.known(attempt, outcome, this.#report);
  }

  readonly #report = (attempt: HeldClaim, outcome: Outcome): void => {
    switch (outcome.kind) {
      case 'completed':
        return this.#complete(attempt);
      case 'failed':
        return this.#fail(attempt, outcome.error);
      case 'split': {
        const error = describeError(outcome.error);
        return this.#retry(attempt, { ...GIVE_BACK, error, ends: 'split' }, () =>
          this.events.emit('split', withCause({ ...endOf(attempt), error }, outcome.error)),
        );
      }
      case 'discarded':
        return this.#deadLetter(attempt, outcome.reason);
      case 'unreadable':
        return this.#passOn(attempt, outcome.error);
      case 'postponed':
        return this.#retry(attempt, postponed(outcome.waitMs), () =>
          this.events.emit('postponed', { ...endOf(attempt), waitMs: outcome.waitMs }),
        );
      case 'unbegun':
        return this.#retry(attempt, { ...GIVE_BACK, waitMs: outcome.waitMs }, () => {});
      case 'released':
        return this.#retry(attempt, RELEASED, () => this.events.emit('released', attempt.event));
      case 'aborted':
        return this.#retry(attempt, ABORTED, () => this.events.emit('aborted', attempt.event));
      case 'lost':
        this.events.emit('lost', attempt.event);
    }
  };

  /** Gives back a claimed row whose handler was not called. @param onGivenBack told when it is, or never was this node's */
  giveBack(id: number, epoch: number, onGivenBack: () => void = () => {}): void {
    this.batchers.retries.add({ id, epoch, ...GIVE_BACK }, onGivenBack);
  }

  /** A claimed row that cannot be read becomes a dead letter; no handler was called. */
  setAside({ id, epoch }: { id: number; epoch: number }, error: string, onDead: () => void): void {
    this.batchers.retries.add({ id, epoch, ...GIVE_BACK, waitMs: null, error }, (result) => {
      if (result === 'written') onDead();
    });
  }

  /**
   * The method of a dying delay did not end well: the delay waits for its next call.
   * @param error that of the last attempt, which the row keeps
   */
  putOff(
    claim: HeldClaim,
    { waitMs, error }: { waitMs: number; error: string },
    tell: (result: Written) => void,
  ): void {
    const item = { id: claim.id, epoch: claim.epoch, ...failed(error, waitMs) };
    const written = (): void => tell('written');
    this.#write(claim, this.batchers.retries, item, written, () => tell('gone'));
  }

  /** Resolves when everything is written down, or after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    // What is known of a COMMIT by then has to be written, too, and what no other node can read has failed.
    await Promise.all([this.commits, this.unread.batcher].map((each) => each.whenEmpty(withinMs)));
    await Promise.all(this.#all.map((each) => each.whenEmpty(withinMs)));
  }

  /** What is not written down by now never is: the leases of those rows will end. */
  close(): void {
    const all = [this.unread.batcher, ...Object.values(this.batchers), this.commits];
    for (const each of all) each.close();
  }

  #complete(attempt: HeldClaim): void {
    // A transactional attempt removed its row itself, in its own transaction.
    if (attempt.handler.transactional) {
      this.free(attempt);
      this.events.emit(attempt.movedOn ? 'superseded' : 'completed', endOf(attempt));
      if (attempt.goesOn !== undefined) this.waits.tell(attempt.goesOn);
      return;
    }
    if (attempt.occurrence !== null) return this.#recur(attempt);
    this.unwritten.add(attempt);
    this.batchers.completions.add(attempt, this.#completed);
  }

  readonly #completed = (result: Written, attempt: HeldClaim): void => {
    if (result === 'refused') return this.#endAsDead(attempt, 'completed');
    this.unwritten.delete(attempt);
    this.free(attempt);
    if (result === 'gone') this.#notWritten(attempt);
    else if (this.events.isHeard('completed')) this.events.emit('completed', endOf(attempt));
  };

  #fail(attempt: HeldClaim, cause: unknown): void {
    const { attempts, max_attempts: maxAttempts } = attempt.row;
    if (attempts >= maxAttempts) return this.#deadLetter(attempt, cause);
    const error = describeError(cause);
    const waitMs = attempt.handler.backoffMs(attempts);
    this.#retry(attempt, failed(error, waitMs), () =>
      this.events.emit('retrying', withCause({ ...endOf(attempt), error, waitMs }, cause)),
    );
  }

  #passOn(attempt: HeldClaim, cause: unknown): void {
    this.unwritten.add(attempt);
    this.unread.passOn(attempt, (result) => {
      this.unwritten.delete(attempt);
      if (result === 'refused') return this.#fail(attempt, cause);
      this.free(attempt);
      if (result === 'gone') return this.#notWritten(attempt);
      const error = describeError(cause);
      this.events.emit('unreadable', withCause({ ...endOf(attempt), error }, cause));
    });
  }

  #deadLetter(attempt: HeldClaim, cause: unknown): void {
    const error = describeError(cause);
    if (attempt.handler.onDead !== undefined) {
      return this.dying.add(attempt, error, cause, (how) => {
        if (how === 'gone') {
          this.free(attempt);
          this.#notWritten(attempt);
        }
        this.wrote.tell();
      });
    }
    const onWritten = (): unknown => this.events.emit('dead', deadEvent(attempt, error, cause));
    const item = recurringOf(attempt, { state: 'discarded', error });
    if (item !== undefined) this.#recurs(attempt, item, onWritten);
    else this.#retry(attempt, failed(error, null), onWritten);
  }

  #recur(attempt: HeldClaim): void {
    const item = recurringOf(attempt, COMPLETED);
    if (item === undefined) return this.#deadLetter(attempt, new Error(UNREADABLE));
    this.#recurs(attempt, item, () => this.events.emit('completed', endOf(attempt)));
  }

  #recurs(attempt: HeldClaim, item: Recurring, onWritten: () => unknown): void {
    this.#write(attempt, this.batchers.recurrences, item, onWritten, undefined, () =>
      this.#endAsDead(attempt, item.state ?? 'missed'),
    );
  }

  /** Its end cannot be written, whatever is left out: as a dead letter it does not run again, and its row says why. */
  #endAsDead(attempt: HeldClaim, how: string): void {
    const error = `${how}, but Postgres refuses what has to be written then; see the event trouble`;
    this.#retry(attempt, failed(error, null), () =>
      this.events.emit('dead', deadEvent(attempt, error, undefined)),
    );
  }

  #retry(attempt: HeldClaim, ending: Ending, onWritten: () => unknown): void {
    const { id, epoch } = attempt;
    this.#write(attempt, this.batchers.retries, { id, epoch, ...ending }, onWritten);
  }

  #write<Item extends { id: number; epoch: number }>(
    attempt: HeldClaim,
    batcher: Batcher<Item>,
    item: Item,
    onWritten: () => unknown,
    onGone: () => void = () => this.#notWritten(attempt),
    onRefused: () => void = onGone,
  ): void {
    this.unwritten.add(attempt);
    batcher.add(item, (result) => {
      this.unwritten.delete(attempt);
      this.free(attempt);
      if (result === 'written') onWritten();
      else if (result === 'gone') onGone();
      else onRefused();
    });
  }

  /** Its row is written: the limits of its name have room. */
  free(attempt: HeldClaim): void {
    if (attempt.handler.limits !== null) this.freed.tell(attempt);
  }

  #notWritten(attempt: HeldClaim): void {
    if (attempt.movedOn) this.events.emit('superseded', endOf(attempt));
    else this.events.emit('lost', attempt.event);
  }
}
