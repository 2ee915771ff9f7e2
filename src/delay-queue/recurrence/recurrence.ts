import { Cron } from 'croner';
import type { CatchUp, DelayRepeat } from '../api/times.js';

/** The instants at which something recurs; all in milliseconds since 1970. */
interface Instants {
  /** The first one after that. Undefined: there is none. */
  after(ms: number): number | undefined;
  /** The last one that has come by then. Undefined: there is none. */
  by(ms: number): number | undefined;
}

/** Counted from the first one, so that nothing drifts. */
export function everyMs(periodMs: number, firstMs: number): Instants {
  const count = (ms: number): number => Math.floor((ms - firstMs) / periodMs);
  return {
    after: (ms) => firstMs + Math.max(0, count(ms) + 1) * periodMs,
    by: (ms) => (ms < firstMs ? undefined : firstMs + count(ms) * periodMs),
  };
}

/**
 * By a wall clock of that zone, as Vixie cron does. Where clocks are put forward, a fixed time of the missing hour comes
 * at its end; where they are put back, in the first of the two equal hours only. What has a `*` or a step in its seconds,
 * minutes or hours is no fixed time: it leaves out the missing hour, and goes on in both equal ones.
 *
 * @throws what `croner` says of an expression that it cannot read
 */
export function cronIn(expression: string, timeZone: string): Instants {
  const cron = new Cron(expression, {
    timezone: timeZone,
    paused: true,
    fixedTimeRule: 'no-wildcard',
  });
  return {
    after: (ms) => cron.nextRun(new Date(ms))?.getTime(),
    // `croner` looks for what is before.
    by: (ms) => cron.previousRuns(1, new Date(ms + 1))[0]?.getTime(),
  };
}

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

/** The database's clock, as the claim has read it. An estimate could be ahead of it, and name an instant that has not come. */
interface ClaimsClock {
  readonly readMs: number;
  /** So late it is by now at least. */
  leastMs(): number;
}

/** One run of a delay that recurs. */
export class Occurrence {
  /** The instant that it stands for: what its handler hears as due. */
  readonly dueMs: number;
  readonly #recurrence: Recurrence;

  /**
   * @param dueMs of the row
   * @throws when the row says what this node cannot read
   */
  constructor(
    private readonly repeat: StoredRepeat,
    dueMs: number,
    private readonly clock: ClaimsClock,
  ) {
    this.#recurrence = new Recurrence(repeat);
    this.dueMs = this.#recurrence.standsFor(dueMs, clock.readMs);
    if (!Number.isFinite(this.dueMs)) throw new Error('the delay recurs at no instant');
  }

  /** Whether the code says how it recurs. */
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

  /** Where the delay goes on when this run is over now. */
  get nextMs(): number {
    return this.#recurrence.nextMs(this.dueMs, this.clock.leastMs());
  }
}

/** Null where it does not recur, or says what this node cannot read. */
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
