import { clock, count } from '../../../../ui/written.js';
import type { Count } from '../../contract.js';
import type { Words } from './words.js';

/** Times and counts, as this page writes them. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Beyond it, hours add nothing to the date. */
const DAYS_WITH_HOURS_MAX = 7;
/** Below it, a fraction of a second matters. */
const FINE_MS = 10 * SECOND_MS;

/** `850 ms`, `4.2 s`, `4 min 5 s`, `5 h 12 min`, `3 d 4 h`, `40 d`. */
export function span(said: Words, ms: number): string {
  const rest = Math.max(0, ms);
  if (rest < SECOND_MS) return said.milliseconds(count(said, Math.round(rest)));
  if (rest < FINE_MS) return said.seconds((Math.floor(rest / 100) / 10).toFixed(1));
  return wholeSpan(said, rest);
}

/** As {@link span}, in whole seconds. */
export function wholeSpan(said: Words, ms: number): string {
  const rest = Math.max(0, ms);
  const whole = (unitMs: number): string => count(said, Math.floor(rest / unitMs));
  const and = (largeMs: number, smallMs: number, small: (n: string) => string): string => {
    const n = Math.floor((rest % largeMs) / smallMs);
    return n === 0 ? '' : ` ${small(count(said, n))}`;
  };
  if (rest < MINUTE_MS) return said.seconds(whole(SECOND_MS));
  if (rest < HOUR_MS) {
    return said.minutes(whole(MINUTE_MS)) + and(MINUTE_MS, SECOND_MS, said.seconds);
  }
  if (rest < DAY_MS) return said.hours(whole(HOUR_MS)) + and(HOUR_MS, MINUTE_MS, said.minutes);
  const hours = rest < DAYS_WITH_HOURS_MAX * DAY_MS ? and(DAY_MS, HOUR_MS, said.hours) : '';
  return said.days(whole(DAY_MS)) + hours;
}

/** `in 4 min`, `4 min ago`, `now`. */
export function relative(said: Words, ms: number): string {
  if (Number.isNaN(ms)) return '';
  if (Math.abs(ms) < SECOND_MS) return said.now;
  return ms > 0 ? said.in(wholeSpan(said, ms)) : said.ago(wholeSpan(said, -ms));
}

const days = new Map<string, Intl.DateTimeFormat>();
function formatDay(said: Words, at: Date, withYear: boolean): string {
  const name = `${said.locale} ${withYear}`;
  const found =
    days.get(name) ??
    new Intl.DateTimeFormat(said.locale, {
      day: 'numeric',
      month: 'short',
      ...(withYear && { year: 'numeric' }),
    });
  days.set(name, found);
  return found.format(at);
}

/** `14:02:11` today, else with the day, in the viewer's time zone. What is no instant, as it is. */
export function instant(said: Words, iso: string, nowMs: number): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const today = new Date(nowMs);
  if (at.toDateString() === today.toDateString()) return clock(iso);
  return `${formatDay(said, at, at.getFullYear() !== today.getFullYear())} ${clock(iso)}`;
}

/** `1,204`, `1,000+`, `≈ 1,200,000`. */
export function counted(said: Words, { count: n, is }: Count): string {
  if (is === 'atLeast') return `${count(said, n)}+`;
  return is === 'about' ? `≈ ${count(said, n)}` : count(said, n);
}

/** `1,204 cancelled, 3 left running`. */
export const countsText = (said: Words, counts: Record<string, number>): string =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([verdict, n]) => `${count(said, n)} ${said.verdicts[verdict] ?? verdict}`)
    .join(', ');
