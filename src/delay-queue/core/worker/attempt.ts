import type { AttemptEnd, DelayAttemptMessage } from '../api/channels.js';
import type { Delay } from '../api/delay.js';
import { describeError } from '../api/error-text.js';
import { DelayCodecError } from '../api/errors.js';
import {
  type AttemptEndEvent,
  type AttemptEvent,
  type DeadEvent,
  withCause,
} from '../api/events.js';
import { isInstance } from '../config/refusals.js';
import type { Runner } from '../database/runner.js';
import type { Handler } from '../handlers/handler.registry.js';
import type { Occurrence } from '../recurrence/occurrence.js';
import type { Skipped, StoredRepeat } from '../recurrence/recurrence.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { ClaimedRow } from '../store/rows/answers.js';
import type { EndedOccurrence, Retry } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';

/** Runs attempts, and is notified when something happens to their claims. */
export interface Holder {
  /** The server's process that runs its transaction, if it has one and that is known. */
  readonly pid: number | undefined;
  /** Another claim has replaced this one. */
  lose(attempt: Attempt): void;
  /** The application is closing: the handler is told to give up, which costs no attempt. */
  close(): void;
  /** The delay is being cancelled: the attempt ends without effect and costs no attempt. */
  abort(attempt: Attempt): void;
  /** The claim is given back, whatever the handler does. */
  release(attempt: Attempt): void;
}

/** Of a decided attempt: its call need not be kept until everything is written. */
export const NO_HOLDER: Holder = {
  pid: undefined,
  lose: () => {},
  close: () => {},
  abort: () => {},
  release: () => {},
};

export interface RowExtras extends Pick<Delay, 'group' | 'headers'> {
  repeat: StoredRepeat | null;
}

/** Shared by all delays without extras. */
const NONE: RowExtras = { group: null, headers: Object.freeze({}), repeat: null };

/**
 * The handler, events and channels share the headers, so none of them may change them.
 * @param text the `extras` column, as the claim returned it
 */
export function readExtras(text: string | null): RowExtras {
  if (text === null) return NONE;
  const { group, headers, repeat } = JSON.parse(text) as Omit<RowExtras, 'headers'> & {
    headers: RowExtras['headers'] | null;
  };
  return { group, headers: headers === null ? NONE.headers : Object.freeze(headers), repeat };
}

/** One run of one delay on this node, from its claim until its outcome is written. */
export class Attempt {
  readonly id: number;
  readonly epoch: number;
  readonly name: string;
  readonly key: string | null;
  readonly extras: RowExtras;
  /** Null: the delay does not recur. */
  occurrence: Occurrence | null = null;

  /** What runs it, until its outcome is decided. */
  holder!: Holder;
  /** The handler rescheduled itself by its own key: the row moved on under this attempt. */
  movedOn = false;
  /** The next wake of its row, as its own transaction wrote it. */
  goesOn: Wake | undefined;
  /** The handler made this run of a recurring delay its last one. */
  stopsRepeating = false;
  /** Instants that its own transaction left out. */
  skipped: Skipped | undefined;
  /** `performance.now()` when its handler was called. */
  calledAtMs = Number.NaN;
  /** How long the handler ran, in milliseconds, once it has ended. */
  durationMs = Number.NaN;
  /** The COMMIT of its transaction was sent: until an answer comes, it may have happened. */
  isCommitting = false;
  /** What its channel was told, if that has subscribers. */
  message: DelayAttemptMessage | undefined = undefined;
  /** The outcome is decided: whatever the handler still does has no effect. */
  over = false;

  /**
   * @param leaseEndsAtMs `performance.now()` at which the lease ends, counted from before the claim
   * was sent: never later than by the database's clock
   * @param latenessMs start minus due on the database's clock; grows while it waits for a slot
   * @param onDead null: an attempt of the handler
   */
  constructor(
    readonly row: ClaimedRow,
    readonly handler: Handler,
    public leaseEndsAtMs: number,
    public latenessMs: number,
    readonly onDead: OnDead | null = null,
  ) {
    this.id = row.id;
    this.epoch = row.epoch;
    this.name = row.name;
    this.key = row.key;
    this.extras = readExtras(row.extras);
  }

  get event(): AttemptEvent {
    return {
      id: String(this.id),
      name: this.name,
      key: this.key,
      group: this.extras.group,
      headers: this.extras.headers,
      attempt: this.row.attempts,
      maxAttempts: this.row.max_attempts,
      latenessMs: this.latenessMs,
    };
  }
}

/**
 * What the events about the end of an attempt report. Written out: a copy of {@link Attempt.event}
 * costs 0.8 µs of the 15 that a drain spends on each delay.
 */
export function endFields({ id, row, extras, latenessMs, durationMs }: Attempt): AttemptEndEvent {
  return {
    id: String(id),
    name: row.name,
    key: row.key,
    group: extras.group,
    headers: extras.headers,
    attempt: row.attempts,
    maxAttempts: row.max_attempts,
    latenessMs,
    durationMs,
  };
}

/** @param attempt the last one of its delay */
export function deadEvent(attempt: Attempt, error: string, cause: unknown): DeadEvent {
  const { maxAttempts: _, latenessMs: __, ...event } = endFields(attempt);
  return withCause({ ...event, error }, cause);
}

/** How an attempt ended, before anything is written. */
export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; error: unknown }
  /** Its batch failed: it runs again at once, alone, and costs no attempt. */
  | { kind: 'split'; error: unknown }
  | { kind: 'discarded'; reason: unknown }
  /** This node cannot read its payload; another one may. */
  | { kind: 'unreadable'; error: unknown }
  | { kind: 'postponed'; waitMs: number }
  /** Its handler was not called: given back, and costs no attempt. */
  | { kind: 'unbegun'; error: unknown; waitMs: number }
  /** Another transaction held its row at its end: given back, and costs no attempt. */
  | { kind: 'held' }
  /** Given back at shutdown, or because another attempt of its batch was aborted. */
  | { kind: 'released' }
  /** Being cancelled: given back, and costs no attempt. */
  | { kind: 'aborted' }
  /** Another node may have the row: nothing may be written. */
  | { kind: 'lost' };

/** What ends an attempt whose delay stays, without the attempt's own id and epoch. */
export type Ending = Omit<Retry, 'id' | 'epoch'>;

/** No handler was called. */
export const GIVE_BACK: Ending = {
  waitMs: 0,
  movesDue: false,
  refund: 1,
  error: null,
  ends: 'unbegun',
};

/** @param waitMs until the next attempt; null: a dead letter */
export const failedEnding = (error: string, waitMs: number | null): Ending => ({
  waitMs,
  movesDue: false,
  refund: 0,
  error,
  ends: 'failed',
});

export const postponedEnding = (waitMs: number): Ending => ({
  ...GIVE_BACK,
  waitMs,
  movesDue: true,
  ends: 'postponed',
});

export const RELEASED: Ending = { ...GIVE_BACK, ends: 'released' };

/**
 * How long an aborted delay waits for its cancel, so that no node runs it before. If none comes,
 * because the transaction was rolled back or the process died, it is as it was.
 */
const ABORTED_REST_MS = 1_000;

export const ABORTED: Ending = { ...GIVE_BACK, waitMs: ABORTED_REST_MS, ends: 'aborted' };

/** An open transaction holds its row: until then its handler would only run in vain. */
export const HELD: Ending = { ...GIVE_BACK, waitMs: 500 };

/** How the occurrence of a recurring delay ended. */
export type OccurrenceEnd = Pick<EndedOccurrence, 'state' | 'error'>;

/** After a failure, `@OnDeadDelay` waits this share of the lateness, within these limits. */
const SHARE_OF_LATENESS = 1 / 8;
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 300_000;

const CODEC_ERROR = describeError(new DelayCodecError(''));

/**
 * What differs between an attempt and a call of `@OnDeadDelay`, which runs as an attempt that is
 * not counted, and so has a lease and a timeout. If it succeeds, its transaction ends with the fence,
 * which writes the dead letter; otherwise the delay waits for the next call.
 */
export class OnDead {
  /** How the occurrence ends if the call succeeds. */
  readonly ends: OccurrenceEnd;

  /** @param error of the last attempt, as the row keeps it; with the `cause` if it ended here */
  constructor(
    readonly error: string,
    readonly cause: unknown,
  ) {
    this.ends = { state: 'discarded', error };
  }

  /** Last statement of its transaction if the delay does not recur. @returns the ids written */
  async deadLetter(
    attempts: readonly Attempt[],
    store: Pick<AttemptStore, 'retry'>,
    runner: Runner,
  ): Promise<number[]> {
    const ending = failedEnding(this.error, null);
    const items = attempts.map(({ id, epoch }) => ({ id, epoch, ...ending }));
    return (await store.retry(items, runner)).map(({ id }) => id);
  }

  /** Whether the payload is what no node could decode: the method gets the delay without it. */
  isUndecodable(failure: unknown): boolean {
    return this.error.startsWith(CODEC_ERROR) && isInstance(failure, DelayCodecError);
  }

  /** Until the next call. */
  nextCallInMs({ latenessMs }: Attempt, outcome: Outcome): number {
    if (outcome.kind === 'postponed' || outcome.kind === 'unbegun') return outcome.waitMs;
    if (outcome.kind === 'released') return 0;
    return Math.min(AGAIN_MS_MAX, Math.max(AGAIN_MS_MIN, latenessMs * SHARE_OF_LATENESS));
  }

  /** What is reported of a call that did not succeed, once that is written. */
  tellAgain(
    { handler }: Attempt,
    outcome: Outcome,
    waitMs: number,
  ): [end?: AttemptEnd, told?: { error?: string; cause?: unknown; waitMs: number }] {
    const { kind } = outcome;
    if (kind === 'unbegun') return [];
    if (kind === 'released' || kind === 'aborted') return [kind];
    if (kind === 'postponed') return [kind, { waitMs }];
    const reason = 'reason' in outcome ? outcome.reason : undefined;
    const cause = 'error' in outcome ? outcome.error : reason;
    const error = `@OnDeadDelay of ${handler.location}: ${describeError(cause)}`;
    return ['retrying', { error, cause, waitMs }];
  }
}
