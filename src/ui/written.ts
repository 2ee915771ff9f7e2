/** Numbers, money and times in the visitor's language. */

/** What a language says of them. */
export interface Units {
  /** As `Intl` knows it. */
  locale: string;
  milliseconds: (n: string) => string;
  seconds: (n: string) => string;
  minutes: (n: string) => string;
  hours: (n: string) => string;
  days: (n: string) => string;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Up to this many hours are written as hours: 48 hours, but 14 days. */
const HOURS_MAX = 48;

/** A format is slow to create, not to use. */
const formats = new Map<string, Intl.NumberFormat>();
function format(words: Units, digits: number): Intl.NumberFormat {
  const name = `${words.locale} ${digits}`;
  const found =
    formats.get(name) ??
    new Intl.NumberFormat(words.locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
  formats.set(name, found);
  return found;
}

export const count = (words: Units, n: number): string => format(words, 0).format(n);

/** Integer cents. */
export const money = (words: Units, cents: number): string => format(words, 2).format(cents / 100);

/** Lateness: with tenths below ten milliseconds; in seconds after a process was down. */
export function lateFor(words: Units, ms: number): string {
  if (ms >= 10 * SECOND_MS) return duration(words, Math.round(ms / SECOND_MS) * SECOND_MS);
  return words.milliseconds(format(words, ms < 10 && !Number.isInteger(ms) ? 1 : 0).format(ms));
}

/** A setting: `30 s`, `30 min`, `48 h`, `14 d`. */
export function duration(words: Units, ms: number): string {
  if (ms < SECOND_MS) return words.milliseconds(count(words, ms));
  if (ms < 2 * MINUTE_MS) return words.seconds(short(words, ms / SECOND_MS));
  if (ms < 2 * HOUR_MS) return words.minutes(short(words, ms / MINUTE_MS));
  if (ms <= HOURS_MAX * HOUR_MS) return words.hours(short(words, ms / HOUR_MS));
  return words.days(short(words, ms / DAY_MS));
}

const short = (words: Units, n: number): string =>
  format(words, Number.isInteger(n) ? 0 : 1).format(n);

const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');

/** Remaining time: tenths in the last minute, then `4:05`, `3:04:05`, days. */
export function left(words: Units, ms: number): string {
  const rest = Math.max(0, ms);
  if (rest < MINUTE_MS) return words.seconds(format(words, 1).format(Math.floor(rest / 100) / 10));
  if (rest >= 2 * DAY_MS) return words.days(count(words, Math.floor(rest / DAY_MS)));
  const minutes = `${two((rest % HOUR_MS) / MINUTE_MS)}:${two((rest % MINUTE_MS) / SECOND_MS)}`;
  return rest < HOUR_MS ? minutes : `${Math.floor(rest / HOUR_MS)}:${minutes}`;
}

/** `14:02:11` in the visitor's time zone. */
export function clock(iso: string): string {
  const at = new Date(iso);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** `14:02:11.042`, to order two events of the same second. */
export const preciseClock = (iso: string): string =>
  `${clock(iso)}.${String(new Date(iso).getMilliseconds()).padStart(3, '0')}`;
