/**
 * Milliseconds, or a text of the `ms` package: `'250ms'`, `'90s'`, `'30m'`, `'48h'`, `'14d'`. Any
 * text compiles, because it may come from configuration; it is checked when used. A text without a
 * unit is refused, except `'0'`: `'60'` could mean seconds.
 */
// oxlint-disable-next-line typescript/ban-types -- keeps the texts below apart from other ones
export type Duration = number | DurationText | (string & {});

/** The texts that editors complete. */
export type DurationText = `${number}${DurationUnit}` | `${number} ${DurationUnit}`;

/** The units of the `ms` package, except years, whose length is ambiguous. */
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

/** When it recurs: at a fixed interval, or by the wall clock of a time zone. */
export type RepeatInterval =
  | {
      /**
       * Interval between two runs, counted from the first due time; give this or `cron`.
       *
       * The first due time is one interval after the first declaration or `schedule`.
       * @range 1 s to 100 years
       */
      every: Duration;
      cron?: never;
      timeZone?: never;
    }
  | {
      /** Five fields, like `0 3 * * *`, or six with the seconds first. */
      cron: string;
      /**
       * IANA time zone of `cron`, like `Europe/Berlin`; never that of the machine.
       * @default 'UTC'
       */
      timeZone?: string;
      every?: never;
    };

/** What `schedule` takes as `repeat`. */
export type RepeatOptions = RepeatInterval & {
  /**
   * Runs for missed instants: `'latest'` one for all, `'each'` one each, `'none'` none.
   *
   * An instant that passes during a run is missed, too. `latest`: the run is due at the last of
   * them. `each`: one run after another. `none`: runs that could not start within a minute are
   * skipped.
   * @default 'latest'
   */
  catchUp?: CatchUp;
};

/** What happens to missed instants: one run for all of them, one for each, or none. */
export type CatchUp = 'latest' | 'each' | 'none';

/** How a delay recurs: an interval in milliseconds, or the wall clock of a time zone. */
export type DelayRepeat = { catchUp: CatchUp } & (
  { every: number } | { cron: string; timeZone: string }
);

/** When a delay is due: `after` counts from the database's clock, `at` is an absolute instant. */
export type When = { after: Duration; at?: never } | { at: Date; after?: never };

/**
 * A recurring delay: one row with a key, whatever the number of nodes. Without `after` or `at`, its
 * first run is one interval from now, or at the next instant of `cron`.
 */
export type Recurring = {
  /** How it recurs. */
  repeat: RepeatOptions;
  key: string;
  onConflict?: 'replace' | 'keep' | 'error';
  maxWait?: never;
  running?: never;
} & (When | { after?: never; at?: never });

/** When a delay is due: once, or repeatedly. */
export type Due = (When & { repeat?: never }) | Recurring;
