/** What other libraries, standards and clocks read in another way than this one, or not at all. */
const NOW_MS = Date.UTC(2026, 10, 27);
const NOW_SECONDS = NOW_MS / 1_000;

/** Also with blanks, and in other scripts. */
const TEXTS = [
  '1M|3M|1 M|1mo|1Mo|1month|1 months|P1M|PT1M|PT1H|P1D|P1W|1y|1 year|2yrs|1Y|1MS|1Min|2H|1D|5 Minutes',
  '1q|1us|1µs|1ns|60|1.5|1e3|1e3s|0x10|1h30m|1h 30m|1:30|00:30:00|1,5h|1_000s',
  ' 5m|5m |5m\n|５m|٥m|+5m|-5m|--5m|5|m||now|tomorrow|∞',
  `${NOW_MS}|${NOW_MS}ms|${NOW_SECONDS}s|${NOW_SECONDS} seconds`,
].flatMap((line) => line.split('|'));

export const WRONG_DURATIONS: readonly unknown[] = [
  TEXTS,
  [NaN, Infinity, -1, -Infinity, NOW_MS, NOW_MS + 60_000, NOW_MS * 1_000],
  [new Date(NOW_MS), true, null, 5n, ['5m'], { minutes: 5 }],
].flat(1);

export const WRONG_DATES: readonly unknown[] = [
  ...[NaN, NOW_SECONDS, 1, 1e10, NOW_MS * 1_000, -1, Date.UTC(1926, 0)].map((ms) => new Date(ms)),
  NOW_MS,
  NOW_SECONDS,
  '2030-01-31T09:30:00Z',
];

export const WRONG_INSTANTS: readonly string[] = [
  ...'02-30|02-29|04-31|00-10|13-01|01-00|01-32|1-5|W01-1|001'
    .split('|')
    .map((day) => `2030-${day}T09:30:00Z`),
  ...'24:00|24:00:00|23:60|23:59:60|25:00|9:30|0930|09:30:00,5|09:30:00.1234567'
    .split('|')
    .map((time) => `2030-01-31T${time}Z`),
  ...'|+25:00|+15:00|+00:60|+0100|+01|EST| UTC|z|Z[Europe/Paris]'
    .split('|')
    .map((zone) => `2030-01-31T09:30:00${zone}`),
  ...[
    '1900-02-29T00:00:00Z|2100-02-29T00:00:00Z|2016-12-31T23:59:60Z|2030-01-31|2030-01-31 09:30:00Z',
    '2030-01-31t09:30:00Z|30-01-31T09:30:00Z|20300131T093000Z|+002030-01-31T09:30:00Z|31/01/2030',
    '٢٠٣٠-01-31T09:30:00Z|1767225600|1767225600000|1970-01-21T10:53:45.600Z|1969-12-31T23:59:59Z',
    'now|tomorrow|infinity|1h|0|null',
  ].flatMap((line) => line.split('|')),
];

/** Durations that do nothing where something lasts or moves. */
export const ZEROS: readonly unknown[] = [0, '0', '0s', '-0', -0];
