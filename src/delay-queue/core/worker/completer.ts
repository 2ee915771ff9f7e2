import type { AttemptEnd } from '../api/channels.js';
import { describeError } from '../api/error-text.js';
import type { EndedOccurrence, Retry, Unread } from '../store/rows/attempt-rows.js';
import { recurredWake } from '../store/sql/recurrences.sql.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { Outstanding } from '../tasks/outstanding.js';
import { TaskHealth } from '../tasks/task-health.js';
import {
  ABORTED,
  type Attempt,
  type Ending,
  failedEnding,
  GIVE_BACK,
  HELD,
  OnDead,
  type Outcome,
  postponedEnding,
  RELEASED,
} from './attempt.js';
import { AttemptEnds, type Ended, tellSkipped } from './attempt-reports.js';
import { Batcher, type BatchResult } from './batcher.js';
import type { WorkerContext } from './context.js';
import { DeadLetters, type DeadLettersPort } from './dead-letters.js';
import { COMPLETED, endOccurrence, MISSED, UNREADABLE } from './occurrence-end.js';

/** A dead letter whose handler was not called. */
const setAside = (error: string): Ending => ({ ...GIVE_BACK, waitMs: null, error });

/** After that, this node may read the delay: it was given a key, for example. */
const LEFT_TO_OTHERS_MS = 30_000;

interface PassOn extends Unread {
  /** Whether the write found another node; set by its answer. */
  isPassed: boolean;
}

/**
 * Whether an exhausted delay was claimed for its `@OnDeadDelay`, was no longer the attempt's, or is
 * left to the next node that claims it, because this one is ending.
 */
export type ExhaustedEnd = 'claimed' | 'gone' | 'left';

/** What the completer reports. */
export interface CompleterPort extends DeadLettersPort {
  /** Outcomes were written: there is room for more. */
  wrote(): void;
  /** An attempt of a name with limits is written: the limits have capacity. */
  freed(claim: Attempt): void;
  /** This node could not read the delay, and others may take it. */
  passed(wake: Wake): void;
  /** The last attempt of a delay failed whose name has an `@OnDeadDelay`. */
  exhausted(attempt: Attempt, onDead: OnDead): Promise<ExhaustedEnd>;
}

/** Writes how attempts ended, in batches that wait for no row, each write fenced by epoch. */
export class Completer {
  readonly deadLetters: DeadLetters;
  /** Delays that wait for their `@OnDeadDelay`. */
  readonly exhausted = new Outstanding();
  readonly #unread: Batcher<PassOn>;
  readonly #completions: Batcher<Attempt>;
  readonly #retries: Batcher<Retry>;
  readonly #recurrences: Batcher<EndedOccurrence>;
  readonly #ends: AttemptEnds;
  readonly #batchers;

  constructor(
    private readonly node: Pick<WorkerContext, 'store' | 'events' | 'aliveMs' | 'jobs'>,
    private readonly to: CompleterPort,
  ) {
    const { store, events } = node;
    // Each has its own health: while one of them fails, the others may work.
    const parts = () => ({
      node: store.nodeName,
      lookAt: (ids: readonly number[]) => store.lookAt(ids),
      health: new TaskHealth(events, 'complete'),
      onProgress: (): void => to.wrote(),
    });
    const complete = (items: readonly Attempt[], reduced: number): Promise<number[]> =>
      store.complete(items, undefined, reduced);
    const retry = async (items: readonly Retry[], reduced: number): Promise<number[]> => {
      const rows = await store.retry(items, undefined, reduced);
      for (const { id, epoch, name, group, failed, wake_ms: wakeMs } of rows) {
        if (wakeMs !== null) to.waits({ id, epoch, name, group, wakeMs, stalled: false, failed });
      }
      return rows.map(({ id }) => id);
    };
    const recur = async (items: readonly EndedOccurrence[], reduced: number): Promise<number[]> => {
      const rows = await store.recur(items, undefined, reduced);
      const skipped = new Map(items.map((item) => [item.id, item.skipped]));
      for (const row of rows) {
        const wake = recurredWake(row);
        if (wake !== undefined) to.waits(wake);
        tellSkipped(events, store.nodeName, row, skipped.get(row.id));
      }
      return rows.map(({ id }) => id);
    };
    this.#completions = new Batcher({ ...parts(), write: complete, removes: true, reductions: 1 });
    this.#retries = new Batcher({ ...parts(), write: retry, reductions: 1 });
    this.#recurrences = new Batcher({ ...parts(), write: recur, reductions: 1 });
    this.#unread = new Batcher({ ...parts(), write: (items) => this.#left(items) });
    this.#batchers = [this.#unread, this.#completions, this.#retries, this.#recurrences];
    this.deadLetters = new DeadLetters(store, events, to);
    this.#ends = new AttemptEnds(events);
  }

  /** Attempts that ended and are not written yet. */
  get size(): number {
    let size = this.exhausted.size;
    for (const { open } of this.#batchers) size += open.size;
    return size;
  }

  /** Takes over an attempt whose outcome is decided. */
  report(attempt: Attempt, outcome: Outcome): void {
    if (CHECKED) invariant(attempt.over, 'what is reported has ended', attempt.id, outcome.kind);
    attempt.durationMs = performance.now() - attempt.calledAtMs;
    if (outcome.kind === 'lost') {
      this.node.jobs.written(attempt);
      return this.#ends.end('lost', attempt);
    }
    this.node.jobs.ended(attempt);
    if (outcome.kind === 'completed') this.#complete(attempt);
    else if (attempt.onDead !== null) this.#callAgain(attempt, attempt.onDead, outcome);
    else this.#endUndone(attempt, outcome);
  }

  #endUndone(attempt: Attempt, outcome: Exclude<Outcome, { kind: 'completed' | 'lost' }>): void {
    switch (outcome.kind) {
      case 'failed':
        return this.#fail(attempt, outcome.error);
      case 'discarded':
        return this.#exhaust(attempt, outcome.reason);
      case 'unreadable':
        return this.#passOn(attempt, outcome.error);
      case 'split': {
        const told = { error: describeError(outcome.error), cause: outcome.error };
        const ending: Ending = { ...GIVE_BACK, error: told.error, ends: 'split' };
        return this.#retry(attempt, ending, 'split', told);
      }
      case 'postponed':
        return this.#retry(attempt, postponedEnding(outcome.waitMs), 'postponed', outcome);
      case 'unbegun':
        return this.#retry(attempt, { ...GIVE_BACK, waitMs: outcome.waitMs });
      case 'held':
        return this.#retry(attempt, HELD);
      case 'released':
        return this.#retry(attempt, RELEASED, 'released');
      case 'aborted':
        return this.#retry(attempt, ABORTED, 'aborted');
    }
  }

  /**
   * Gives back a claimed row whose handler was not called.
   * @param onGivenBack called when it is, or if it never was this node's
   */
  giveBack(id: number, epoch: number, onGivenBack: () => void = () => {}): void {
    this.#retries.add({ id, epoch, ...GIVE_BACK }, onGivenBack);
  }

  /**
   * The delay goes on to its next occurrence, because it was too late for a handler. If the next
   * instant is unknown, it becomes a dead letter.
   */
  skip(attempt: Attempt): void {
    const { id, epoch } = attempt;
    const refuse = (): void => this.#retries.add({ id, epoch, ...setAside(UNREADABLE) }, () => {});
    const item = endOccurrence(attempt, MISSED);
    if (item === undefined) return refuse();
    this.#recurrences.add(item, (result) => {
      if (result === 'refused') refuse();
    });
  }

  /** A claimed row that cannot be read becomes a dead letter; no handler was called. */
  setAside({ id, epoch, row, extras }: Attempt, error: string): void {
    this.#retries.add({ id, epoch, ...setAside(error) }, (result) => {
      if (result !== 'written') return;
      const { group, headers } = extras;
      this.deadLetters.emit({ ...row, group, headers, attempts: row.attempts - 1, error });
    });
  }

  /** Resolves when everything is written, or after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    // Failures that no other node can read add to the batches.
    await this.#unread.open.whenEmpty(withinMs);
    const all = [...this.#batchers.map(({ open }) => open), this.exhausted];
    await Promise.all(all.map((each) => each.whenEmpty(withinMs)));
  }

  /** What is not written by now never is: the leases of those rows will end. */
  close(): void {
    for (const each of this.#batchers) each.close();
  }

  #complete(attempt: Attempt): void {
    // A transactional call has written its row itself, in its own transaction.
    if (attempt.handler.transactional || attempt.handler.own) {
      this.#written(attempt);
      return this.#completed(attempt);
    }
    if (attempt.occurrence !== null) return this.#recur(attempt);
    this.#completions.add(attempt, this.#removed);
  }

  #completed(attempt: Attempt): void {
    const { row, onDead, goesOn, movedOn, skipped, extras } = attempt;
    const { events, store } = this.node;
    if (!movedOn) tellSkipped(events, store.nodeName, { ...row, group: extras.group }, skipped);
    if (movedOn) this.#ends.end('superseded', attempt);
    else if (onDead === null) this.#ends.end('completed', attempt);
    else this.#ends.end('dead', attempt, onDead);
    if (goesOn !== undefined) this.to.waits(goesOn);
  }

  readonly #removed = (result: BatchResult, attempt: Attempt): void => {
    if (result === 'refused') this.#endAsDead(attempt, 'completed');
    else this.#over(attempt, result === 'written', 'completed');
  };

  #fail(attempt: Attempt, cause: unknown): void {
    const { attempts, max_attempts: maxAttempts } = attempt.row;
    if (attempts >= maxAttempts) return this.#exhaust(attempt, cause);
    const error = describeError(cause);
    const waitMs = attempt.handler.backoffMs(attempts);
    this.#retry(attempt, failedEnding(error, waitMs), 'retrying', { error, cause, waitMs });
  }

  /** Other nodes may read it: passes it on to them, and leaves it to them for a while. */
  #passOn(attempt: Attempt, cause: unknown): void {
    const { id, epoch } = attempt;
    const waitMs = this.node.jobs.mayLeave ? null : LEFT_TO_OTHERS_MS;
    // A write whose outcome is unknown, and whose row has moved on, has passed it.
    this.#unread.add({ id, epoch, waitMs, isPassed: true }, (result, { isPassed }) => {
      if (result !== 'gone' && !isPassed) return this.#fail(attempt, cause);
      const told = { error: describeError(cause), cause };
      this.#over(attempt, result !== 'gone', 'unreadable', told);
    });
  }

  async #left(items: readonly PassOn[]): Promise<number[]> {
    const { store, jobs, aliveMs } = this.node;
    const rows = await store.passOn(items, aliveMs);
    const byId = new Map(items.map((item) => [item.id, item]));
    for (const { passed, wake_ms: wakeMs, ...row } of rows) {
      const item = byId.get(row.id);
      if (item !== undefined) item.isPassed = passed;
      if (!passed) continue;
      jobs.leave(row.id, row.epoch, performance.now() + LEFT_TO_OTHERS_MS);
      this.to.passed({ ...row, wakeMs, stalled: false });
    }
    return rows.map(({ id }) => id);
  }

  /** No attempt is left: `@OnDeadDelay` ends with the dead letter, or it is written here. */
  #exhaust(attempt: Attempt, cause: unknown): void {
    const error = describeError(cause);
    if (attempt.handler.onDead !== undefined) {
      return void this.#callOnDead(attempt, new OnDead(error, cause));
    }
    const item = endOccurrence(attempt, { state: 'discarded', error });
    // The last one stays, as a dead letter, like a delay that is due once.
    if (item?.nextMs === undefined) return this.#deadLetter(attempt, error, cause);
    this.#recurs(attempt, item, 'dead', { error, cause });
  }

  #deadLetter(attempt: Attempt, error: string, cause: unknown): void {
    this.#retry(attempt, failedEnding(error, null), 'dead', { error, cause });
  }

  /** Its lease is kept until the row is claimed for `@OnDeadDelay`. */
  async #callOnDead(attempt: Attempt, onDead: OnDead): Promise<void> {
    this.exhausted.add();
    const end = await this.to.exhausted(attempt, onDead);
    if (end === 'gone') this.#over(attempt, false);
    else {
      this.#ends.end('exhausted', attempt, onDead);
      if (end === 'claimed') this.node.jobs.written(attempt);
      else this.#retry(attempt, failedEnding(onDead.error, 0));
    }
    this.exhausted.done();
    this.to.wrote();
  }

  /** The row keeps the error of the last attempt. */
  #callAgain(attempt: Attempt, onDead: OnDead, outcome: Outcome): void {
    const waitMs = onDead.nextCallInMs(attempt, outcome);
    const [end, told] = onDead.tellAgain(attempt, outcome, waitMs);
    this.#retry(attempt, failedEnding(onDead.error, waitMs), end, told);
  }

  #recur(attempt: Attempt): void {
    const item = endOccurrence(attempt, COMPLETED);
    if (item === undefined) return this.#exhaust(attempt, new Error(UNREADABLE));
    this.#recurs(attempt, item, 'completed');
  }

  #recurs(attempt: Attempt, item: EndedOccurrence, end: AttemptEnd, told?: Ended): void {
    this.#recurrences.add(item, (result) => {
      if (result === 'refused') this.#endAsDead(attempt, item.state ?? 'missed');
      else this.#over(attempt, result === 'written', end, told);
    });
  }

  /** No form of its end can be written. As a dead letter it does not run again and says why. */
  #endAsDead(attempt: Attempt, how: string): void {
    const error = `${how}, but Postgres refuses what has to be written then; see the event taskFailed`;
    this.#deadLetter(attempt, error, undefined);
  }

  /** @param end what is reported once that is written; undefined: nothing */
  #retry(attempt: Attempt, ending: Ending, end?: AttemptEnd, told?: Ended): void {
    const { id, epoch } = attempt;
    this.#retries.add({ id, epoch, ...ending }, (result) =>
      this.#over(attempt, result === 'written', end, told),
    );
  }

  #over(attempt: Attempt, isWritten: boolean, end?: AttemptEnd, told?: Ended): void {
    this.#written(attempt);
    if (!isWritten) this.#notWritten(attempt);
    else if (end !== undefined) this.#ends.end(end, attempt, told);
  }

  /** The row is another's by now, and the limits of its name have capacity. */
  #written(attempt: Attempt): void {
    this.node.jobs.written(attempt);
    if (attempt.handler.limits !== null) this.to.freed(attempt);
  }

  /**
   * The row is gone or has moved on. While the lease lasts, that is the work of the attempt's own
   * COMMIT, whose answer is missing; or of another process, if this one has lost its lock as well.
   */
  #notWritten(attempt: Attempt): void {
    if (attempt.isCommitting && attempt.leaseEndsAtMs > performance.now()) {
      return this.#completed(attempt);
    }
    this.#ends.end(attempt.movedOn ? 'superseded' : 'lost', attempt);
  }
}
