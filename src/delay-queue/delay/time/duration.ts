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
