import { Cron } from 'croner';

/** The instants of a recurrence, in milliseconds since 1970. */
export interface Instants {
  /** The first instant after `ms`; undefined if there is none. */
  readonly after: (ms: number) => number | undefined;
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
 * runs at the end of that hour; in one that it repeats, the first time only. A `*` or a step in
 * seconds, minutes or hours is no fixed time: it skips the missing hour and runs in both equal
 * ones.
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

/** Without the instants after `untilMs`. */
export const endingAt = (untilMs: number, all: Instants): Instants => ({
  after: (ms) => {
    const nextMs = all.after(ms);
    return nextMs !== undefined && nextMs > untilMs ? undefined : nextMs;
  },
  by: (ms) => all.by(Math.min(ms, untilMs)),
  countedMax: all.countedMax,
});
