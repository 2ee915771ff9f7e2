import { isDate } from 'node:util/types';
import type { CatchUp } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { cronIn } from '../recurrence/instants.js';
import type { Rule, StoredRepeat } from '../recurrence/recurrence.js';
import { knowsZone } from '../recurrence/zone-rules.js';
import { checkInteger, checkText, oneOf } from './checks.js';
import { parseDurationBetween, parseDurationMs } from './durations.js';
import { instantOf } from './instants.js';
import { shown } from './known-options.js';

/** The recurrence that a call asks for. */
export interface GivenRepeat {
  how: StoredRepeat;
  /** Whether the call sets the first run. */
  hasFirst: boolean;
  /** When it ends, in milliseconds from the call; null: `how.until`, or never. */
  lastsMs: number | null;
}

/** Options of a recurrence that the code declares. */
export const RULE_OPTIONS = ['every', 'cron', 'timeZone', 'catchUp'];
export const REPEAT_OPTIONS = [...RULE_OPTIONS, 'until', 'limit'];

const CATCH_UPS: readonly CatchUp[] = ['latest', 'each', 'none'];
const TEXT_LENGTH_MAX = 200;
const RUNS_MAX = 1_000_000;

/**
 * @param given without unknown options
 * @throws DelayInvalidError naming the option
 */
export function checkRule(given: Record<string, unknown>): Rule {
  const { catchUp = 'latest' } = given;
  return { ...intervalOf(given), catchUp: oneOf(CATCH_UPS)(catchUp, 'catchUp') };
}

/** The rule and its end. A duration as `until` counts from the call: see {@link GivenRepeat}. */
export function checkRepeat(given: Record<string, unknown>): Pick<GivenRepeat, 'how' | 'lastsMs'> {
  const { until, limit } = given;
  const how: StoredRepeat = checkRule(given);
  if (limit !== undefined) how.limit = checkInteger(limit, 'limit', 1, RUNS_MAX);
  if (until === undefined) return { how, lastsMs: null };
  if (typeof until === 'string' || typeof until === 'number') {
    return { how, lastsMs: parseDurationMs(until, 'until') };
  }
  if (!isDate(until)) {
    throw new DelayInvalidError('until', `must be a Date or a duration, not ${shown(until)}`);
  }
  how.until = Date.parse(instantOf(until, 'until'));
  return { how, lastsMs: null };
}

function intervalOf(
  given: Record<string, unknown>,
): { every: number } | { cron: string; timeZone: string } {
  const { every, cron, timeZone } = given;
  if ((every === undefined) === (cron === undefined)) {
    throw new DelayInvalidError(
      'every|cron',
      `say how it recurs, with exactly one of them: { every: '15m' } or { cron: '0 3 * * *', timeZone: 'UTC' }`,
    );
  }
  if (every === undefined) return { cron: checkCron(cron), timeZone: checkTimeZone(timeZone) };
  if (timeZone !== undefined) {
    throw new DelayInvalidError('timeZone', 'goes with cron: every has no wall clock');
  }
  return { every: parseDurationBetween(every, 'every', '1s', '36525d') };
}

/** A name that every release of Node knows, not an offset: offsets have no daylight saving time. */
function checkTimeZone(value: unknown = 'UTC'): string {
  const timeZone = checkText(value, 'timeZone', TEXT_LENGTH_MAX);
  if (/^[A-Za-z]/.test(timeZone) && knowsZone(timeZone)) return timeZone;
  throw new DelayInvalidError(
    'timeZone',
    `must be an IANA time zone like 'Europe/Berlin', not ${shown(timeZone)}`,
  );
}

/** Not a step or a count, as in `MON-FRI/2` and `FRI#3`. */
const WEEKDAY_NUMBER = /(?:^|[,-])\d/;

/** Five fields, or six with the seconds first. A date or a year field would end the recurrence. */
function checkCron(value: unknown): string {
  const cron = checkText(value, 'cron', TEXT_LENGTH_MAX).trim();
  const fields = cron.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new DelayInvalidError(
      'cron',
      `must have five fields, like '0 3 * * *', or six with the seconds in front, not ${shown(value)}`,
    );
  }
  if (cron.includes('?') && WEEKDAY_NUMBER.test(fields.at(-1)!)) {
    throw new DelayInvalidError(
      'cron',
      `has the number of a weekday beside ?, as Quartz writes it: 2 is Monday there and Tuesday here. Write MON or TUE, not ${shown(value)}`,
    );
  }
  if (firstInstantOf(cron) !== undefined) return cron;
  throw new DelayInvalidError(
    'cron',
    `never occurs, because there is no such day: ${shown(value)}`,
  );
}

function firstInstantOf(cron: string): number | undefined {
  try {
    return cronIn(cron, 'UTC').after(0);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DelayInvalidError('cron', `must be a cron expression: ${why}`);
  }
}
