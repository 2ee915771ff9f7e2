import { Cron } from 'croner';
import type { CatchUp, DelayRepeat } from '../api/delay.js';

/** The instants of a recurrence, in milliseconds since 1970. */
interface Instants {
  /** The first instant after `ms`; undefined if there is none. */
  after(ms: number): number | undefined;
  /** The last instant up to `ms`; undefined if there is none. */
  by(ms: number): number | undefined;
  /**
   * How many are counted that were left out: after a downtime, one of `cron` costs 0.1 ms, and each
   * delay that recurs has its own.
   */
  readonly countedMax: number;
}

/** Counted from the first instant, so it does not drift. */
export function everyMs(periodMs: number, firstMs: number): Instants {
  const count = (ms: number): number => Math.floor((ms - firstMs) / periodMs);
  return {
    after: (ms) => firstMs + Math.max(0, count(ms) + 1) * periodMs,
    by: (ms) => (ms < firstMs ? undefined : firstMs + count(ms) * periodMs),
    countedMax: 1_000,
  };
}

/**
 * By the wall clock of a time zone, as Vixie cron. A fixed time in an hour that the clock skips
 * runs at the end of that hour; in an hour that the clock repeats, it runs the first time only. A
 * `*` or a step in seconds, minutes or hours is no fixed time: it skips the missing hour and runs
 * in both equal ones.
 * @throws the error of `croner` for an expression that it cannot read
 */
export function cronIn(expression: string, timeZone: string): Instants {
  const cron = new Cron(expression, {
    timezone: timeZone,
    paused: true,
    fixedTimeRule: 'no-wildcard',
  });
  return {
    after: (ms) => cron.nextRun(new Date(ms))?.getTime(),
    // `croner` searches before an instant, not up to it.
    by: (ms) => cron.previousRuns(1, new Date(ms + 1))[0]?.getTime(),
    countedMax: 25,
  };
}

/** The recurrence as its row stores it. */
export type StoredRepeat = DelayRepeat & {
  /** For `every`: the first instant. */
  from?: number;
  /** Declared by a `@RepeatDelay`. */
  declared?: true;
  /** Deployment of that `@RepeatDelay`, if deployments are separate. */
  deployment?: string;
};

/** Instants for which a recurring delay did not run; milliseconds since 1970. */
export interface Skipped {
  count: number;
  fromMs: number;
  toMs: number;
}

/** With `none`, an instant that could not start within this time is missed. */
export const MISSED_AFTER_MS = 60_000;

/** Latest instant of a row. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Computes the next due time from the last due time, never from when the delay ran. All times are
 * milliseconds since 1970 on the database's clock.
 */
export class Recurrence {
  readonly #catchUp: CatchUp;
  readonly #instants: Instants;

  /** @throws if it is unreadable: written by another version of this library, or another program */
  constructor(repeat: StoredRepeat) {
    checkKnown(repeat);
    this.#catchUp = repeat.catchUp;
    this.#instants =
      'every' in repeat
        ? everyMs(repeat.every, repeat.from ?? 0)
        : cronIn(repeat.cron, repeat.timeZone);
  }

  /** The instant that a run starting now stands for. With `latest`, the last missed one. */
  standsFor(dueMs: number, nowMs: number): number {
    if (this.#catchUp !== 'latest') return dueMs;
    return Math.max(dueMs, this.#instants.by(nowMs) ?? dueMs);
  }

  /**
   * The instants from `dueMs` on and before `nextMs`, without the one that ran.
   * @param ranMs undefined: none did
   */
  skipped(dueMs: number, ranMs: number | undefined, nextMs: number): Skipped | undefined {
    if (this.#catchUp === 'each') return undefined;
    let skipped: Skipped | undefined;
    let ms: number | undefined = dueMs;
    while (ms !== undefined && ms < nextMs && (skipped?.count ?? 0) < this.#instants.countedMax) {
      if (ms !== ranMs) {
        skipped ??= { count: 0, fromMs: ms, toMs: ms };
        skipped.count += 1;
        skipped.toMs = ms;
      }
      ms = this.#instants.after(ms);
    }
    return skipped;
  }

  /** Whether a first attempt that could start now is too late. */
  isMissed(dueMs: number, nowMs: number): boolean {
    return this.#catchUp === 'none' && nowMs - dueMs > MISSED_AFTER_MS;
  }

  /**
   * The next due time, always later than `dueMs`.
   *
   * - `each`: the next instant after `dueMs`, even if past.
   * - `latest`: the last instant that has passed since, otherwise the next one.
   * - `none`: the next future instant.
   * @throws if there is none
   */
  nextMs(dueMs: number, nowMs: number): number {
    const fromMs = this.#catchUp === 'none' ? Math.max(dueMs, nowMs) : dueMs;
    const nextMs = this.#instants.after(fromMs);
    if (nextMs === undefined) throw new Error('the recurrence has no further instant');
    // Rows written by another program: not a number, an interval that does not advance, or an
    // instant that cannot be stored.
    if (!(nextMs >= dueMs + 1 && nextMs <= LAST_MS)) {
      throw new Error('the recurrence does not advance to an instant that can be stored');
    }
    return this.#catchUp === 'latest'
      ? Math.max(nextMs, this.#instants.by(nowMs) ?? nextMs)
      : nextMs;
  }
}

/** When a recurrence that starts now is due first. */
export function firstMsOf(repeat: StoredRepeat, nowMs: number): number {
  if ('every' in repeat) return nowMs + repeat.every;
  return new Recurrence({ ...repeat, catchUp: 'none' }).nextMs(nowMs, nowMs);
}

const KNOWN = ['every', 'cron', 'timeZone', 'catchUp', 'from', 'declared', 'deployment'];
const CATCH_UPS: readonly string[] = ['latest', 'each', 'none'] satisfies CatchUp[];

/** A newer version may store more, and half of it must not be applied. @throws */
function checkKnown(repeat: StoredRepeat): void {
  const isKnown = Object.keys(repeat).every((part) => KNOWN.includes(part));
  if (!isKnown || !CATCH_UPS.includes(repeat.catchUp))
    throw new Error('unknown options of a recurrence');
}

/** The database's clock as the claim read it. An estimate could be ahead of the next instant. */
interface ClaimsClock {
  readonly readMs: number;
  /** The earliest time that it can be now. */
  leastMs(): number;
}

/** One run of a recurring delay. */
export class Occurrence {
  /** The instant that it stands for: `dueAt` of its handler. */
  readonly dueMs: number;
  readonly #recurrence: Recurrence;

  /**
   * @param rowDueMs of the row
   * @throws if this node cannot read the row's recurrence
   */
  constructor(
    private readonly repeat: StoredRepeat,
    private readonly rowDueMs: number,
    private readonly clock: ClaimsClock,
  ) {
    this.#recurrence = new Recurrence(repeat);
    this.dueMs = this.#recurrence.standsFor(rowDueMs, clock.readMs);
    if (!Number.isFinite(this.dueMs)) throw new Error('the recurrence has no instant');
  }

  /** Whether a `@RepeatDelay` declares it. */
  get isDeclared(): boolean {
    return this.repeat.declared === true;
  }

  recursAs(how: DelayRepeat): boolean {
    const known: Readonly<Record<string, unknown>> = this.repeat;
    return Object.entries(how).every(([option, value]) => known[option] === value);
  }

  /** Whether it is too late for a first attempt. */
  get isMissed(): boolean {
    return this.#recurrence.isMissed(this.dueMs, this.clock.readMs);
  }

  /** The instants that it leaves out, if the next one is that; of a missed one, its own too. */
  skippedUntil(nextMs: number, isMissed: boolean): Skipped | undefined {
    return this.#recurrence.skipped(this.rowDueMs, isMissed ? undefined : this.dueMs, nextMs);
  }

  /** The next due time if this run ended now. */
  get nextMs(): number {
    return this.#recurrence.nextMs(this.dueMs, this.clock.leastMs());
  }
}

/** Null if the delay does not recur, or this node cannot read its recurrence. */
export function occurrenceOf(
  repeat: StoredRepeat | null,
  ...of: [dueMs: number, clock: ClaimsClock]
): Occurrence | null {
  try {
    return repeat && new Occurrence(repeat, ...of);
  } catch {
    return null;
  }
}
