import { describeError } from '../api/error-text.js';
import {
  type AttemptEndEvent,
  type DeadEvent,
  type DelayEvents,
  withCause,
} from '../api/events.js';
import type { Runner } from '../database/runner.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { type Recurring, wakeOfRecurred } from '../store/rows/answers.js';
import type { Retry, Unread } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { TaskHealth } from '../tasks/recurring-task.js';
import { Batcher, type BatcherParts, type Written } from './batcher.js';
import {
  ABORTED,
  type Ending,
  type ExhaustedClaim,
  ExhaustedClaims,
  failedEnding,
  GIVE_BACK,
  type HeldClaim,
  InFlight,
  type Outcome,
  postponedEnding,
  RELEASED,
  UnansweredCommits,
} from './claims.js';

export type OccurrenceEnd = Pick<Recurring, 'state' | 'error'>;

/** Only for a row that another version wrote: what this version declares is readable. */
export const UNREADABLE = 'this version cannot read how the delay recurs';

const REFUSED: Ending = {
  waitMs: null,
  movesDue: false,
  refund: 1,
  error: UNREADABLE,
  ends: 'unbegun',
};

export const COMPLETED: OccurrenceEnd = { state: 'completed', error: null };
const MISSED: OccurrenceEnd = { state: null, error: null };

/**
 * What is written for an ended occurrence. Undefined: it is none, or its next instant is unknown.
 */
export function recurringOf(
  {
    id,
    epoch,
    latenessMs,
    occurrence,
  }: Pick<HeldClaim, 'id' | 'epoch' | 'latenessMs' | 'occurrence'>,
  end: OccurrenceEnd,
): Recurring | undefined {
  if (occurrence === null) return undefined;
  let nextMs: number;
  try {
    ({ nextMs } = occurrence);
  } catch {
    return undefined;
  }
  return {
    id,
    epoch,
    dueMs: occurrence.dueMs,
    nextMs,
    ...end,
    latenessMs: end.state === 'completed' ? latenessMs : null,
    maxAttempts: null,
  };
}

/** Writes how occurrences ended, and when their delays are due next. */
export class Recurrences extends Batcher<Recurring> {
  constructor(
    store: AttemptStore,
    to: { waits(wake: Wake): void },
    private readonly retries: Batcher<Retry>,
    parts: Omit<BatcherParts<Recurring>, 'write'>,
  ) {
    const write = async (items: readonly Recurring[], reduced: number): Promise<number[]> => {
      const rows = await store.recur(items, undefined, reduced);
      for (const row of rows) to.waits(wakeOfRecurred(row));
      return rows.map(({ id }) => id);
    };
    super({ ...parts, write, reductions: 1 });
  }

  /** Too late for its handler. If the next instant is unknown, the delay becomes a dead letter. */
  skip(claim: Parameters<typeof recurringOf>[0]): void {
    const item = recurringOf(claim, MISSED);
    if (item !== undefined) {
      this.add(item, (result) => {
        if (result === 'refused') this.#refuse(claim);
      });
    } else this.#refuse(claim);
  }

  #refuse({ id, epoch }: { id: number; epoch: number }): void {
    this.retries.add({ id, epoch, ...REFUSED }, () => {});
  }
}

/** How long this node leaves to others what it could not read. What it could not read may be readable by then: a key was given. */
const LEFT_TO_OTHERS_MS = 30_000;

/** Delays that are remembered. With more of them, each waits in its row until the time is over, for all nodes. */
const REMEMBERED_MAX = 50_000;

/** Whether the write has found other nodes is known when it was answered. */
interface PassOn extends Unread {
  isPassed: boolean;
}

/** What the completer reports. */
export interface CompleterPort {
  /** Something was written: there is room for more outcomes. */
  wrote(): void;
  /** The delay of an attempt that ended goes on at that wake. */
  waits(wake: Wake): void;
  /** The attempt of a name with limits has ended, and its row is no longer its own. */
  freed(claim: HeldClaim): void;
  /** This node could not read that delay, and others may take it now. */
  passed(wake: Wake): void;
  /** The attempt was the last one, and its name has an `@OnDeadDelay`. */
  exhausted(dying: ExhaustedClaim): void;
}

/** Passes on to other nodes what this one cannot read, and leaves it to them for a while. */
export class UnreadDelays {
  readonly batcher: Batcher<PassOn>;
  /** By id, the oldest first. */
  readonly #left = new Map<number, { epoch: number; untilMs: number }>();

  /** @param aliveMs for how long a node counts as alive of which nothing can be told */
  constructor(
    store: Pick<AttemptStore, 'passOn'>,
    aliveMs: number,
    private readonly to: Pick<CompleterPort, 'passed'>,
    parts: Omit<BatcherParts<PassOn>, 'write'>,
  ) {
    const write = async (items: readonly PassOn[]): Promise<number[]> => {
      const rows = await store.passOn(items, aliveMs);
      const byId = new Map(items.map((item) => [item.id, item]));
      for (const { passed, wake_ms: wakeMs, ...row } of rows) {
        const item = byId.get(row.id);
        if (item !== undefined) item.isPassed = passed;
        if (passed) this.#leave({ ...row, wakeMs, stalled: false });
      }
      return rows.map(({ id }) => id);
    };
    this.batcher = new Batcher({ ...parts, write });
  }

  /** @param tell `passed`; `refused`: no other node may read it, and the claim still holds; `gone`: it holds no more */
  passOn(
    { id, epoch }: { id: number; epoch: number },
    tell: (result: 'passed' | 'refused' | 'gone') => void,
  ): void {
    const waitMs = this.#isFull ? LEFT_TO_OTHERS_MS : null;
    // A write whose outcome is unknown, and whose row has moved on, has passed it.
    this.batcher.add({ id, epoch, waitMs, isPassed: true }, (result, { isPassed }) => {
      if (result === 'gone') tell('gone');
      else tell(isPassed ? 'passed' : 'refused');
    });
  }

  /**
   * Whether this node leaves that row to others: it is as this node left it, or has been refused by another one since.
   * Otherwise it has been written anew, and each node may try.
   */
  leaves({ id, epoch, refused }: Pick<Wake, 'id' | 'epoch' | 'refused'>): boolean {
    const left = this.#left.get(id);
    if (left === undefined || epoch < left.epoch) return false;
    const isLeft = epoch === left.epoch || refused === true;
    if (isLeft && performance.now() < left.untilMs) return true;
    this.#left.delete(id);
    return false;
  }

  /** Nodes came or went: what no node takes may be this one's again. */
  forget(): void {
    this.#left.clear();
  }

  get #isFull(): boolean {
    const nowMs = performance.now();
    for (const [id, { untilMs }] of this.#left) {
      if (untilMs > nowMs) break;
      this.#left.delete(id);
    }
    return this.#left.size >= REMEMBERED_MAX;
  }

  #leave(wake: Wake): void {
    this.#left.delete(wake.id);
    if (!this.#isFull) {
      const untilMs = performance.now() + LEFT_TO_OTHERS_MS;
      this.#left.set(wake.id, { epoch: wake.epoch, untilMs });
    }
    this.to.passed(wake);
  }
}

/** Who writes down what: while one of them fails, the others may work. */
function batchersOf(
  store: AttemptStore,
  to: CompleterPort,
  { events, aliveMs }: { events: DelayEvents; aliveMs: number },
) {
  const parts = () => ({
    node: store.nodeName,
    lookAt: (ids: readonly number[]) => store.lookAt(ids),
    health: new TaskHealth(events, 'complete'),
    onProgress: (): void => to.wrote(),
  });
  const write = (items: readonly HeldClaim[], reduced: number) =>
    reduced > 0 ? store.completeUnlogged(items) : store.complete(items);
  const retry = async (items: readonly Retry[], reduced: number): Promise<number[]> => {
    const rows = await store.retry(items, undefined, reduced);
    for (const { id, epoch, name, group, failed, wake_ms: wakeMs } of rows) {
      if (wakeMs !== null) to.waits({ id, epoch, name, group, wakeMs, stalled: false, failed });
    }
    return rows.map((row) => row.id);
  };
  const retries = new Batcher({ ...parts(), write: retry, reductions: 2 });
  const unread = new UnreadDelays(store, aliveMs, to, parts());
  return {
    unread,
    completions: new Batcher({ ...parts(), write, removes: true, reductions: 1 }),
    retries,
    recurrences: new Recurrences(store, to, retries, parts()),
  };
}

/** What is told of the end of an attempt. Written out: a copy of its event costs 0.8 µs of the 15 that a drain spends on each delay. */
export const endOf = ({ id, row, latenessMs, durationMs }: HeldClaim): AttemptEndEvent => ({
  id: String(id),
  name: row.name,
  key: row.key,
  attempt: row.attempts,
  maxAttempts: row.max_attempts,
  latenessMs,
  durationMs,
});

/** @param claim whose attempt was the last */
export function deadEvent(claim: HeldClaim, error: string, cause: unknown): DeadEvent {
  const { id, name, key, attempt, durationMs } = endOf(claim);
  return withCause({ id, name, key, attempt, error, durationMs }, cause);
}

/** Writes down how attempts ended, in batches that wait for no row, each write fenced by epoch. */
export class Completer {
  readonly batchers: Omit<ReturnType<typeof batchersOf>, 'unread'>;
  /** What this node cannot read, and leaves to others. */
  readonly unread: ReturnType<typeof batchersOf>['unread'];
  /** Attempts that ended and are not written down: their rows are still theirs. */
  readonly unwritten = new InFlight();
  readonly exhausted: ExhaustedClaims;
  readonly commits: UnansweredCommits;
  readonly #all;

  constructor(
    store: AttemptStore,
    runner: Runner,
    private readonly events: DelayEvents,
    aliveMs: number,
    readonly to: CompleterPort,
  ) {
    const { unread, ...batchers } = batchersOf(store, to, { events, aliveMs });
    this.exhausted = new ExhaustedClaims(this.unwritten, to);
    this.batchers = batchers;
    this.unread = unread;
    this.commits = new UnansweredCommits(runner, this.unwritten, events);
    this.#all = [unread.batcher, ...Object.values(batchers), this.exhausted, this.commits];
  }

  /** Attempts that ended and are not written down yet. */
  get size(): number {
    return this.#all.reduce((size, each) => size + each.size, 0);
  }

  /** Takes over an attempt whose outcome is decided. */
  report(attempt: HeldClaim, outcome: Outcome): void {
    if (CHECKED) invariant(attempt.over, 'what is reported has ended', attempt.id, outcome.kind);
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
        return this.#retry(attempt, postponedEnding(outcome.waitMs), () =>
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
    const item = { id: claim.id, epoch: claim.epoch, ...failedEnding(error, waitMs) };
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
      if (attempt.goesOn !== undefined) this.to.waits(attempt.goesOn);
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
    this.#retry(attempt, failedEnding(error, waitMs), () =>
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
      return this.exhausted.add(attempt, error, cause, (how) => {
        if (how === 'gone') {
          this.free(attempt);
          this.#notWritten(attempt);
        }
        this.to.wrote();
      });
    }
    const onWritten = (): unknown => this.events.emit('dead', deadEvent(attempt, error, cause));
    const item = recurringOf(attempt, { state: 'discarded', error });
    if (item !== undefined) this.#recurs(attempt, item, onWritten);
    else this.#retry(attempt, failedEnding(error, null), onWritten);
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
    const error = `${how}, but Postgres refuses what has to be written then; see the event taskFailed`;
    this.#retry(attempt, failedEnding(error, null), () =>
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
    if (attempt.handler.limits !== null) this.to.freed(attempt);
  }

  #notWritten(attempt: HeldClaim): void {
    if (attempt.movedOn) this.events.emit('superseded', endOf(attempt));
    else this.events.emit('lost', attempt.event);
  }
}
