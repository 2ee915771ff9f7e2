import { isDate } from 'node:util/types';
import { DelayInvalidError } from '../api/errors.js';
import { readable, shown } from './blame.js';
import { parseDurationMs } from './durations.js';
import { checkKnownOptions } from './known-options.js';

/** `after` counts from the database's clock, so the database adds it. */
export type DueTime = { kind: 'after'; ms: number } | { kind: 'at'; iso: string };

/** `extend` counts from the row's due time. */
export type MoveTo = DueTime | { kind: 'extend'; ms: number };

/** After the year 9999, ISO texts have another form. No deadline needs them. */
const AT_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * The due time of a `schedule`.
 *
 * ```ts
 * parseWhen({ after: '30m' });                 // { kind: 'after', ms: 1_800_000 }
 * parseWhen({ at: new Date('2030-01-01') });   // { kind: 'at', iso: '2030-01-01T00:00:00.000Z' }
 * ```
 *
 * A past `at` means due now. Other properties are ignored.
 * @throws DelayInvalidError unless exactly one of `after` and `at` is given and valid
 */
export function parseWhen(when: unknown): DueTime {
  const [field, value] = onlyOneOf(when, ['after', 'at']);
  return field === 'after'
    ? { kind: 'after', ms: parseDurationMs(value, 'after') }
    : { kind: 'at', iso: instantOf(value, 'at') };
}

/** The same for a `reschedule`, with `extendBy` and without other properties. */
export function parseRescheduleTo(to: unknown): MoveTo {
  const fields = ['after', 'at', 'extendBy'] as const;
  const [field, value] = onlyOneOf(checkKnownOptions(to, 'to', fields), fields);
  return field === 'extendBy'
    ? { kind: 'extend', ms: parseDurationMs(value, 'extendBy') }
    : parseWhen({ [field]: value });
}

/** A property that is `undefined` counts as omitted, as everywhere in TypeScript. */
function onlyOneOf<F extends string>(when: unknown, fields: readonly F[]): [F, unknown] {
  const given: Partial<Record<F, unknown>> = typeof when === 'object' && when !== null ? when : {};
  let only: [F, unknown] | undefined;
  for (const field of fields) {
    const value = Object.hasOwn(given, field) ? given[field] : undefined;
    if (value === undefined) continue;
    if (only !== undefined) {
      throw new DelayInvalidError(field, `give either ${only[0]} or ${field}, not both`);
    }
    only = [field, value];
  }
  if (only !== undefined) return only;
  throw new DelayInvalidError(
    fields.join('|'),
    `say when, with exactly one of ${fields.join(', ')}: { after: '30m' } or { at: date }`,
  );
}

/** An instant from 1970 to 9999, as ISO text. */
export function instantOf(instant: unknown, field: string): string {
  if (!isDate(instant)) {
    throw new DelayInvalidError(field, `must be a Date, not ${shown(instant)}`);
  }
  // Not the object's own `getTime`, which may return anything.
  const ms = Date.prototype.getTime.call(instant);
  if (Number.isNaN(ms)) {
    throw new DelayInvalidError(field, 'must be a valid Date, not an Invalid Date');
  }
  if (readable(field, () => instant.getTime()) !== ms) {
    throw new DelayInvalidError(field, 'must be a Date whose getTime answers the time it holds');
  }
  if (ms < 0 || ms > AT_MS_MAX) {
    throw new DelayInvalidError(field, 'must lie from 1970-01-01 to 9999-12-31');
  }
  return new Date(ms).toISOString();
}
