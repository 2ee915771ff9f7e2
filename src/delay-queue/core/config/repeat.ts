import { isDate } from 'node:util/types';
import { DelayInvalidError } from '../api/errors.js';
import { cronIn } from '../recurrence/instants.js';
import { CATCH_UPS, type Rule, type StoredRepeat } from '../recurrence/recurrence.js';
import { knowsZone } from '../recurrence/zone-rules.js';
import { checkText, choice, integer, type ValueCheck } from './checks.js';
import { durationIn, parseDurationMs } from './durations.js';
import { checkInstant } from './instants.js';
import { parseByTable, type Parsed } from './known-options.js';
import { blamedOn } from './refusals.js';
import { shown } from './shown.js';

/** The recurrence that a call asks for. */
export interface GivenRepeat {
  how: StoredRepeat;
  /** Whether the call sets the first run. */
  hasFirst: boolean;
  /** When it ends, in milliseconds from the call; null: `how.until`, or never. */
  lastsMs: number | null;
}

const TEXT_LENGTH_MAX = 200;

const ends: ValueCheck<Pick<GivenRepeat, 'lastsMs'> & { untilMs?: number }> = (until, field) => {
  if (typeof until === 'string' || typeof until === 'number') {
    return { lastsMs: parseDurationMs(until, field) };
  }
  if (isDate(until)) return { lastsMs: null, untilMs: Date.parse(checkInstant(until, field)) };
  throw new DelayInvalidError(field, `must be a Date or a duration, not ${shown(until)}`);
};

/** A name that every release of Node knows, not an offset: offsets have no daylight saving time. */
function checkTimeZone(value: unknown, field: string): string {
  const timeZone = checkText(value, field, TEXT_LENGTH_MAX);
  if (/^[A-Za-z]/.test(timeZone) && knowsZone(timeZone)) return timeZone;
  throw new DelayInvalidError(
    field,
    `must be an IANA time zone like 'Europe/Berlin', not ${shown(timeZone)}`,
  );
}

/** Not a step or a count, as in `MON-FRI/2` and `FRI#3`. */
const WEEKDAY_NUMBER = /(?:^|[,-])\d/;

/** Five fields, or six with the seconds first. A date or a year field would end the recurrence. */
function checkCron(value: unknown, field: string): string {
  const cron = checkText(value, field, TEXT_LENGTH_MAX).trim();
  const fields = cron.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new DelayInvalidError(
      field,
      `must have five fields, like '0 3 * * *', or six with the seconds in front, not ${shown(value)}`,
    );
  }
  if (cron.includes('?') && WEEKDAY_NUMBER.test(fields.at(-1)!)) {
    throw new DelayInvalidError(
      field,
      `has the number of a weekday beside ?, as Quartz writes it: 2 is Monday there and Tuesday here. Write MON or TUE, not ${shown(value)}`,
    );
  }
  if (firstInstant(cron, field) !== undefined) return cron;
  throw new DelayInvalidError(field, `never occurs, because there is no such day: ${shown(value)}`);
}

function firstInstant(cron: string, field: string): number | undefined {
  try {
    return cronIn(cron, 'UTC').after(0);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DelayInvalidError(field, `must be a cron expression: ${why}`);
  }
}

/** Options of a recurrence that the code declares. */
export const RULE = {
  every: durationIn('1s', '36525d'),
  cron: checkCron,
  timeZone: checkTimeZone,
  catchUp: [choice(CATCH_UPS), 'latest'],
} as const;

const REPEAT = { ...RULE, until: ends, limit: integer(1, 1_000_000) } as const;

/** @throws DelayInvalidError for a rule without an interval, or with two */
export function toRule({ every, cron, timeZone, catchUp }: Parsed<typeof RULE>): Rule {
  if (every !== undefined && cron === undefined && timeZone === undefined)
    return { every, catchUp };
  if (every === undefined && cron !== undefined)
    return { cron, timeZone: timeZone ?? 'UTC', catchUp };
  if (cron === undefined && every !== undefined) {
    throw new DelayInvalidError('timeZone', 'goes with cron: every has no wall clock');
  }
  throw new DelayInvalidError(
    'every|cron',
    `say how it recurs, with exactly one of them: { every: '15m' } or { cron: '0 3 * * *', timeZone: 'UTC' }`,
  );
}

/** The rule and its end. A duration as `until` counts from the call: see {@link GivenRepeat}. */
export function parseRepeat(value: unknown, field: string): Pick<GivenRepeat, 'how' | 'lastsMs'> {
  const { until, limit, ...rule } = parseByTable(value, field, REPEAT);
  const how: StoredRepeat = blamedOn(field, () => toRule(rule));
  if (limit !== undefined) how.limit = limit;
  if (until?.untilMs !== undefined) how.until = until.untilMs;
  return { how, lastsMs: until?.lastsMs ?? null };
}
