import { DelayInvalidError } from '../api/errors.js';
import type { CatchUp, DelayRepeat } from '../api/times.js';
import { cronIn } from '../recurrence/recurrence.js';
import { shown } from './blame.js';
import { parseDurationBetween } from './durations.js';
import { checkText } from './names.js';

/** Options of a recurrence. */
export const REPEAT_OPTIONS = ['every', 'cron', 'timeZone', 'catchUp'];

const CATCH_UPS: readonly CatchUp[] = ['latest', 'each', 'none'];
const TEXT_LENGTH_MAX = 200;

/**
 * @param given without unknown options
 * @throws DelayInvalidError naming the option
 */
export function checkRepeat(given: Record<string, unknown>): DelayRepeat {
  const { catchUp = 'latest' } = given;
  return { ...intervalOf(given), catchUp: checkCatchUp(catchUp) };
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
  if (/^[A-Za-z]/.test(timeZone) && isKnown(timeZone)) return timeZone;
  throw new DelayInvalidError(
    'timeZone',
    `must be an IANA time zone like 'Europe/Berlin', not ${shown(timeZone)}`,
  );
}

function isKnown(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone }).format();
    return true;
  } catch {
    return false;
  }
}

/** Five fields, or six with the seconds first. A date or a year field would end the recurrence. */
function checkCron(value: unknown): string {
  const cron = checkText(value, 'cron', TEXT_LENGTH_MAX).trim();
  const fields = cron.split(/\s+/).length;
  if (fields !== 5 && fields !== 6) {
    throw new DelayInvalidError(
      'cron',
      `must have five fields, like '0 3 * * *', or six with the seconds in front, not ${shown(value)}`,
    );
  }
  if (firstOf(cron) !== undefined) return cron;
  throw new DelayInvalidError(
    'cron',
    `never occurs, because there is no such day: ${shown(value)}`,
  );
}

function firstOf(cron: string): number | undefined {
  try {
    return cronIn(cron, 'UTC').after(0);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DelayInvalidError('cron', `must be a cron expression: ${why}`);
  }
}

function checkCatchUp(value: unknown): CatchUp {
  const known = CATCH_UPS.find((choice) => choice === value);
  if (known !== undefined) return known;
  throw new DelayInvalidError(
    'catchUp',
    `must be one of ${CATCH_UPS.join(', ')}, not ${shown(value)}`,
  );
}
