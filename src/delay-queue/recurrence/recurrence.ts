import type { CatchUp, DelayRepeat } from '../delay/time/repeat.js';
import { cronIn, everyMs, type Instants } from './instants.js';

/** How a delay recurs, as its row has it. */
export type StoredRepeat = DelayRepeat & {
  /** Of `every` the first instant. */
  from?: number;
  /** A `@RepeatDelay` says so. */
  declared?: true;
  /** Whose `@RepeatDelay` that is, where deployments are kept apart. */
  deployment?: string;
};

/** With `none` an instant waits no longer: what begins later than that is missed. */
export const MISSED_AFTER_MS = 60_000;

/** The last instant that a row may have. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * When a delay is due next, counted from when it was due and never from when it ran. All instants are milliseconds
 * since 1970 on the database's clock.
 */
export class Recurrence {
  readonly #catchUp: CatchUp;
  readonly #instants: Instants;

  /** @throws when that cannot be read: another version of this library, or another program, has written it */
  constructor(repeat: StoredRepeat) {
    checkKnown(repeat);
    this.#catchUp = repeat.catchUp;
    this.#instants =
      'every' in repeat
        ? everyMs(repeat.every, repeat.from ?? 0)
        : cronIn(repeat.cron, repeat.timeZone);
  }

  /**
   * The instant that a run stands for which begins now. With `latest` one run stands for all that were missed: it is the
   * last of them.
   */
  standsFor(dueMs: number, nowMs: number): number {
    if (this.#catchUp !== 'latest') return dueMs;
    return Math.max(dueMs, this.#instants.by(nowMs) ?? dueMs);
  }

  /** Whether a first attempt that could begin now comes too late. */
  isMissed(dueMs: number, nowMs: number): boolean {
    return this.#catchUp === 'none' && nowMs - dueMs > MISSED_AFTER_MS;
  }

  /**
   * Where it goes on, always later than it was due.
   *
   * - `each`: the instant after that, also when it is past.
   * - `latest`: the last one that has come meanwhile, else the one after that.
   * - `none`: the next one to come.
   *
   * @throws when there is none
   */
  nextMs(dueMs: number, nowMs: number): number {
    const fromMs = this.#catchUp === 'none' ? Math.max(dueMs, nowMs) : dueMs;
    const nextMs = this.#instants.after(fromMs);
    if (nextMs === undefined) throw new Error('the delay does not recur any more');
    // Of a row that another hand wrote: not a number, a period that does not go forward, or no instant that can be stored.
    if (!(nextMs >= dueMs + 1 && nextMs <= LAST_MS)) {
      throw new Error('the delay recurs in a way that leads nowhere');
    }
    return this.#catchUp === 'latest'
      ? Math.max(nextMs, this.#instants.by(nowMs) ?? nextMs)
      : nextMs;
  }
}

/** When what begins to recur now is due for the first time. */
export function firstMsOf(repeat: StoredRepeat, nowMs: number): number {
  if ('every' in repeat) return nowMs + repeat.every;
  return new Recurrence({ ...repeat, catchUp: 'none' }).nextMs(nowMs, nowMs);
}

const KNOWN = ['every', 'cron', 'timeZone', 'catchUp', 'from', 'declared', 'deployment'];
const CATCH_UPS: readonly string[] = ['latest', 'each', 'none'] satisfies CatchUp[];

/** A newer version may say more, and would not be understood by half. @throws */
function checkKnown(repeat: StoredRepeat): void {
  const isKnown = Object.keys(repeat).every((part) => KNOWN.includes(part));
  if (!isKnown || !CATCH_UPS.includes(repeat.catchUp)) throw new Error('an unknown way to recur');
}
