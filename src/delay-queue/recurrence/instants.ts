import { Cron } from 'croner';

/** The instants at which something recurs; all in milliseconds since 1970. */
export interface Instants {
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
