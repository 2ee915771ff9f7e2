/**
 * Milliseconds, or a text of the `ms` package: `'250ms'`, `'90s'`, `'30m'`, `'48h'`, `'14d'`. Any text
 * compiles, because it may come from a configuration; what it says is checked when it is used. A text
 * without a unit, but for `'0'`, is refused then: `'60'` may be meant as seconds.
 */
// oxlint-disable-next-line typescript/ban-types -- keeps the texts below apart from other ones
export type Duration = number | DurationText | (string & {});

/** The texts that editors know. */
export type DurationText = `${number}${DurationUnit}` | `${number} ${DurationUnit}`;

/** The units of the `ms` package, but for years, whose length is not agreed on. */
export type DurationUnit =
  | 'ms'
  | 'msecs'
  | 'milliseconds'
  | 's'
  | 'sec'
  | 'secs'
  | 'second'
  | 'seconds'
  | 'm'
  | 'min'
  | 'mins'
  | 'minute'
  | 'minutes'
  | 'h'
  | 'hr'
  | 'hrs'
  | 'hour'
  | 'hours'
  | 'd'
  | 'day'
  | 'days'
  | 'w'
  | 'week'
  | 'weeks';

/** When it recurs: each so long, or by the wall clock of a time zone. */
export type RepeatInterval =
  | {
      /**
       * Each so long, counted from the first due time; either this or `cron`.
       *
       * The first due time is so long after it is first declared or scheduled.
       *
       * @range 1 s to 100 years
       */
      every: Duration;
      cron?: never;
      timeZone?: never;
    }
  | {
      /** Five fields, like `0 3 * * *`, or six with the seconds in front. */
      cron: string;
      /**
       * IANA name of the wall clock for `cron`, like `Europe/Berlin`; never that of the machine.
       * @default 'UTC'
       */
      timeZone?: string;
      every?: never;
    };

/** What `schedule` takes as `repeat`. */
export type RepeatOptions = RepeatInterval & {
  /**
   * What becomes of instants that were missed: one run for all, `'each'` a run for each, `'none'` no run.
   *
   * Missed is also what came while a run took its time. `latest`: the one run is due at the last of them. `each`: one after
   * another. `none`: what could not begin within a minute is left out.
   *
   * @default 'latest'
   */
  catchUp?: CatchUp;
};

/** What becomes of instants that were missed: one run for all of them, one for each, or none. */
export type CatchUp = 'latest' | 'each' | 'none';

/** How a delay recurs: each so many milliseconds, or by the wall clock of a time zone. */
export type DelayRepeat = { catchUp: CatchUp } & (
  { every: number } | { cron: string; timeZone: string }
);

/** When a delay is due: `after` counts from the database's clock, `at` is an absolute instant. */
export type When = { after: Duration; at?: never } | { at: Date; after?: never };

/**
 * A delay that recurs, one row on any number of nodes: it has a key, and `after` or `at` say when it runs for the first
 * time. Left out, that is its first instant: so long after now, or the next one of the wall clock.
 */
export type Recurring = {
  /** How it recurs. */
  repeat: RepeatOptions;
  key: string;
  onConflict?: 'replace' | 'keep' | 'error';
  maxWait?: never;
  running?: never;
} & (When | { after?: never; at?: never });

/** When a delay is due: once, or again and again. */
export type Due = (When & { repeat?: never }) | Recurring;
