import type { CatchUp } from '../api/delay.js';
import { cronIn, endingAt, everyMs, type Instants } from './instants.js';
import { offsetIn, sameWallClock } from './zone-rules.js';

/** What a caller says of when it recurs. */
export type Rule = { catchUp: CatchUp } & ({ every: number } | { cron: string; timeZone: string });

/** The recurrence as its row stores it. */
export type StoredRepeat = Rule & {
  /** No run is due later; milliseconds since 1970. */
  until?: number;
  /** How many times it runs. */
  limit?: number;
  /** Runs that are counted, while there is a limit. */
  ran?: number;
  /** For `every` the first instant; for `cron` the due time that was computed last. */
  from?: number;
  /** What the zone was ahead of UTC then, in minutes, to the node that computed it. */
  offset?: number;
  /** Release of that node's zone data, like `2026c`. */
  tz?: string;
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

/** By which rules of its zone the due time of a `cron` was computed. */
export type Computed = Pick<StoredRepeat, 'from' | 'offset' | 'tz'>;

/** In every hour alike, an expression goes by instants, and otherwise by the hands of the clock. */
const namesHours = (cron: string): boolean => {
  const hours = cron.trim().split(/\s+/).at(-4);
  return hours !== '*' && hours !== '*/1';
};

/** The rules behind a due time that this node computed; empty where the zone does not matter. */
export function computedHere(rule: Rule, dueMs: number | undefined): Computed {
  if (dueMs === undefined || 'every' in rule || !namesHours(rule.cron)) return {};
  return {
    from: dueMs,
    offset: offsetIn(rule.timeZone)(dueMs),
    tz: process.versions['tz'] ?? '',
  };
}

/** How an occurrence ended: `missed` without a run, `stopped` by its handler, which ran. */
export type HowEnded = 'ran' | 'stopped' | 'missed';

/** How the row of a recurring delay goes on. */
export interface GoesOn {
  /** When it is due next; undefined: it has ended. */
  nextMs: number | undefined;
  /** Instants that are left out before. */
  skipped: Skipped | undefined;
  /** What its repeat stores from then on. */
  more: Pick<StoredRepeat, 'ran'> & Computed;
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
  constructor(private readonly repeat: StoredRepeat) {
    checkKnown(repeat);
    const { catchUp, until } = repeat;
    this.#catchUp = catchUp;
    const instants =
      'every' in repeat
        ? everyMs(repeat.every, repeat.from ?? 0)
        : cronIn(repeat.cron, repeat.timeZone);
    this.#instants = until === undefined ? instants : endingAt(until, instants);
  }

  /** The instant that a run starting now stands for. With `latest`, the last missed one. */
  standsFor(dueMs: number, nowMs: number): number {
    if (this.#catchUp !== 'latest') return dueMs;
    const lastMs = this.#instants.by(nowMs) ?? dueMs;
    return lastMs > this.#here(dueMs) ? Math.max(dueMs, lastMs) : dueMs;
  }

  /**
   * The instants from `dueMs` on and before `nextMs`, without the one that ran. @param ranMs
   * undefined: none did
   */
  skipped(dueMs: number, ranMs: number | undefined, nextMs: number): Skipped | undefined {
    if (this.#catchUp === 'each') return undefined;
    const skipped: Skipped = { count: 0, fromMs: dueMs, toMs: dueMs };
    const add = (ms: number): void => {
      if (skipped.count === 0) skipped.fromMs = ms;
      skipped.count += 1;
      skipped.toMs = ms;
    };
    if (dueMs !== ranMs) add(dueMs);
    const { after, countedMax } = this.#instants;
    let ms = after(this.#here(dueMs));
    while (ms !== undefined && ms < nextMs && skipped.count < countedMax) {
      if (ms !== ranMs || dueMs === ranMs) add(ms);
      ms = after(ms);
    }
    return skipped.count === 0 ? undefined : skipped;
  }

  /**
   * Another node may have computed that due time by other rules of the zone. When it has run, the
   * same hands of this node's clock are over as well, and nothing before them.
   */
  #here(dueMs: number): number {
    const { repeat } = this;
    const { from, offset } = repeat;
    if ('every' in repeat || offset === undefined || from !== dueMs) return dueMs;
    return sameWallClock(repeat.timeZone, dueMs, offset);
  }

  /** Whether a first attempt that could start now is too late. */
  isMissed(dueMs: number, nowMs: number): boolean {
    return this.#catchUp === 'none' && nowMs - dueMs > MISSED_AFTER_MS;
  }

  /**
   * The next due time, later than `dueMs` unless another node has computed that by other rules;
   * undefined: it was the last one.
   *
   * - `each`: the next instant after `dueMs`, even if past.
   * - `latest`: the last instant that has passed since, otherwise the next one.
   * - `none`: the next future instant.
   * @throws if it cannot be stored
   */
  nextMs(dueMs: number, nowMs: number): number | undefined {
    const hereMs = this.#here(dueMs);
    const fromMs = this.#catchUp === 'none' ? Math.max(hereMs, nowMs) : hereMs;
    const nextMs = this.#instants.after(fromMs);
    if (nextMs === undefined) return undefined;
    // Rows written by another program: not a number, an interval that does not advance, or an
    // instant that cannot be stored.
    if (!(nextMs >= hereMs + 1 && nextMs <= LAST_MS)) {
      throw new Error('the recurrence does not advance to an instant that can be stored');
    }
    return this.#catchUp === 'latest'
      ? Math.max(nextMs, this.#instants.by(nowMs) ?? nextMs)
      : nextMs;
  }

  /**
   * How the row goes on after an occurrence.
   * @param rowDueMs of the row, from which on instants may have been left out
   * @param dueMs of the occurrence
   * @throws as {@link nextMs}
   */
  goesOn(how: HowEnded, rowDueMs: number, dueMs: number, nowMs: number): GoesOn {
    const { limit, ran: before = 0 } = this.repeat;
    const ran = how === 'missed' ? before : before + 1;
    const isEnded = how === 'stopped' || (limit !== undefined && ran >= limit);
    const nextMs = isEnded ? undefined : this.nextMs(dueMs, nowMs);
    const lastMs = isEnded ? dueMs : (nextMs ?? Infinity);
    return {
      nextMs,
      skipped: this.skipped(rowDueMs, how === 'missed' ? undefined : dueMs, lastMs),
      more: { ...(limit !== undefined && { ran }), ...computedHere(this.repeat, nextMs) },
    };
  }
}

/** When a recurrence that starts now is due first. A rule that was checked has no end. */
export function firstDueMs(rule: Rule, nowMs: number): number {
  if ('every' in rule) return nowMs + rule.every;
  return new Recurrence({ ...rule, catchUp: 'none' }).nextMs(nowMs, nowMs) as number;
}

/** What a rule says, of all that a repeat stores. */
const SAID = ['every', 'cron', 'timeZone', 'catchUp'];

/** Whether both recur alike, whatever their ends. */
export const isSameRule = (one: object, other: object): boolean =>
  SAID.every((option) => Reflect.get(one, option) === Reflect.get(other, option));

const KNOWN = [...SAID, 'until', 'limit', 'ran', 'from', 'offset', 'tz', 'declared', 'deployment'];
const NUMBERS: readonly unknown[] = ['number', 'undefined'];
export const CATCH_UPS: readonly CatchUp[] = ['latest', 'each', 'none'];

/** A newer version may store more, and half of it must not be applied. @throws */
function checkKnown(repeat: StoredRepeat): void {
  const isKnown = Object.keys(repeat).every((part) => KNOWN.includes(part));
  const { until, limit, ran, offset } = repeat;
  const areNumbers = [until, limit, ran, offset].every((value) => NUMBERS.includes(typeof value));
  if (!isKnown || !areNumbers || !CATCH_UPS.includes(repeat.catchUp))
    throw new Error('unknown options of a recurrence');
}
