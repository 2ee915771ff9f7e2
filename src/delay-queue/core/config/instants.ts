import { isDate } from 'node:util/types';
import { DelayInvalidError } from '../api/errors.js';
import { readable } from './refusals.js';
import { shown } from './shown.js';

/** After the year 9999, ISO texts have another form. No deadline needs them. */
const MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Until the year 2286, seconds since 1970 lie below it. */
const SECONDS_MAX = 1e10;

/** An instant from 1970 to 9999, as ISO text. */
export function checkInstant(instant: unknown, field: string): string {
  if (!isDate(instant)) {
    throw new DelayInvalidError(field, `must be a Date, not ${shown(instant)}`);
  }
  // Not the object's own `getTime`, which may return anything.
  const atMs = Date.prototype.getTime.call(instant);
  if (Number.isNaN(atMs)) {
    throw new DelayInvalidError(field, 'must be a valid Date, not an Invalid Date');
  }
  if (readable(field, () => instant.getTime()) !== atMs) {
    throw new DelayInvalidError(field, 'must be a Date whose getTime answers the time it holds');
  }
  if (atMs < 0 || atMs > MAX_MS) {
    throw new DelayInvalidError(field, 'must lie from 1970-01-01 to 9999-12-31');
  }
  const iso = new Date(atMs).toISOString();
  if (atMs === 0 || atMs > SECONDS_MAX) return iso;
  throw new DelayInvalidError(
    field,
    `looks like seconds: ${iso} is ${atMs} ms after 1970. Date takes milliseconds: new Date(seconds * 1000)`,
  );
}

/** With its zone: without one it would be the machine's. */
const TEXT =
  /^(?<wall>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

/**
 * An instant as a text, as command line and dashboard take it.
 *
 * ```ts
 * parseInstant('2026-01-31T09:30:00Z', 'due-from');
 * ```
 * @throws DelayInvalidError for 30 February and 24:00, which `Date` would move to the next day
 */
export function parseInstant(text: unknown, field: string): Date {
  const wall = typeof text === 'string' ? TEXT.exec(text)?.groups?.['wall'] : undefined;
  if (wall === undefined) {
    throw new DelayInvalidError(
      field,
      `must be an instant with its zone, like 2026-01-31T09:30:00Z, not ${shown(text)}`,
    );
  }
  const wallClock = new Date(`${wall}Z`);
  if (Number.isNaN(wallClock.getTime()) || !wallClock.toISOString().startsWith(wall)) {
    throw new DelayInvalidError(
      field,
      `must be an instant that exists, not ${shown(text)}: months end on their last day, days at 23:59:59.999`,
    );
  }
  return new Date(checkInstant(new Date(text as string), field));
}
