import ms from 'ms';
import { DelayInvalidError } from '../api/errors.js';
import type { ValueCheck } from './checks.js';
import { checkInstant } from './instants.js';
import { checkKnownOptions } from './known-options.js';
import { shown } from './shown.js';

/** Longest duration: a hundred years of 365.25 days. */
export const DURATION_MS_MAX = 100 * 365.25 * 24 * 60 * 60 * 1000;

/** Longest text that `ms` reads. */
const TEXT_LENGTH_MAX = 100;

/** A double holds 15 decimal digits for certain; further digits are noise. */
const EXACT_DIGITS = 15;

/** `Date.now()` has passed it since 2001; a duration in milliseconds or seconds hardly reaches it. */
const POINT_IN_TIME_MS = 1e12;

/** What is counted from 1970 is written in one of these. */
const SMALL_UNIT = /^(?:m?s|m?secs?|(?:milli)?seconds?)$/;

/**
 * Milliseconds of a `Duration`: a number of milliseconds, or a text of the `ms` package.
 *
 * ```ts
 * parseDurationMs('30m', 'after'); // 1_800_000
 * parseDurationMs(0.2, 'after');   // 1: rounded up, never early
 * ```
 * @returns whole milliseconds, 0 to {@link DURATION_MS_MAX}
 * @throws DelayInvalidError for NaN, Infinity, negatives, `'30x'`, `'60'`, `'1M'`, `'1y'`, `Date.now()`, `''`, objects
 */
export function parseDurationMs(value: unknown, field: string): number {
  const unit = typeof value === 'string' ? findUnit(value) : 'ms';
  const rawMs = typeof value === 'string' ? textMs(value, unit, field) : value;
  if (typeof rawMs !== 'number' || !Number.isFinite(rawMs)) {
    throw new DelayInvalidError(
      field,
      `must be milliseconds or a text like '90s', '30m', '48h' or '14d', not ${shown(value)}`,
    );
  }
  if (rawMs < 0) {
    throw new DelayInvalidError(field, `must not be negative, but is ${shown(value)}`);
  }
  if (rawMs > DURATION_MS_MAX) {
    throw new DelayInvalidError(field, `must be at most 100 years, but is ${shown(value)}`);
  }
  if (rawMs >= POINT_IN_TIME_MS && SMALL_UNIT.test(unit)) {
    throw new DelayInvalidError(
      field,
      `looks like a point in time: ${shown(value)}. A due time is \`at: new Date(…)\`; so long a duration is counted in days, like '20000d'`,
    );
  }
  // `+ 0` turns -0 into 0.
  if (Number.isInteger(rawMs)) return rawMs + 0;
  // '1.1h' is 3,960,000.0000000005 in binary; rounding up would add a millisecond.
  return Math.ceil(Number(rawMs.toPrecision(EXACT_DIGITS)));
}

/** A bound as a text: messages read like the options. */
type Bound = ms.StringValue;

/** {@link parseDurationMs} within both bounds, inclusive. */
export const durationIn =
  (min: Bound, max: Bound): ValueCheck<number> =>
  (value, field) => {
    const valueMs = parseDurationMs(value, field);
    if (valueMs >= ms(min) && valueMs <= ms(max)) return valueMs;
    throw new DelayInvalidError(field, `must be from ${min} to ${max}, not ${shown(value)}`);
  };

/** `ms` takes milliseconds for a text without a unit, minutes for `M`, and 365.25 days for a year. */
function textMs(text: string, unit: string, field: string): number | undefined {
  const readMs = isReadable(text) ? ms(text) : undefined;
  // Zero is the same in every unit.
  if (readMs === undefined || readMs === 0) return readMs;
  const number = text
    .slice(0, text.length - unit.length)
    .trim()
    .replace('-', '');
  const refuse = (why: string): never => {
    throw new DelayInvalidError(field, why);
  };
  if (unit === '') {
    refuse(
      `has no unit: ${shown(text)}. Write '${number}s' for seconds, or the number ${number} for milliseconds`,
    );
  }
  if (unit === 'M') {
    refuse(`is months or minutes: ${shown(text)}. Write '${number}m' for minutes, or count days`);
  }
  if (unit.startsWith('y')) {
    refuse(`counts years, which differ in length: ${shown(text)}. Count days, like '365d'`);
  }
  if (unit !== unit.toLowerCase()) {
    refuse(`must have its unit in lower case: ${shown(text.toLowerCase())}, not ${shown(text)}`);
  }
  return readMs;
}

/** The longest one has 12 letters. */
const findUnit = (text: string): string => /[a-z]*$/i.exec(text.slice(-20))![0];

/** `ms` throws for `''`. For other texts that it cannot read, it returns `undefined`. */
function isReadable(text: string): text is ms.StringValue {
  return text !== '' && text.length <= TEXT_LENGTH_MAX;
}

/** `after` counts from the database's clock, so the database adds it. */
export type DueTime = { kind: 'after'; ms: number } | { kind: 'at'; iso: string };

/** `extend` counts from the row's due time. */
export type MoveTo = DueTime | { kind: 'extend'; ms: number };

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
  const [field, value] = onlyOne(when, ['after', 'at']);
  return field === 'after'
    ? { kind: 'after', ms: parseDurationMs(value, 'after') }
    : { kind: 'at', iso: checkInstant(value, 'at') };
}

/** The same for a `reschedule`, with `extendBy` and without other properties. */
export function parseRescheduleTo(to: unknown): MoveTo {
  const fields = ['after', 'at', 'extendBy'] as const;
  const [field, value] = onlyOne(checkKnownOptions(to, 'to', fields), fields);
  return field === 'extendBy'
    ? { kind: 'extend', ms: durationIn('1ms', '36525d')(value, 'extendBy') }
    : parseWhen({ [field]: value });
}

/** A property that is `undefined` counts as omitted, as everywhere in TypeScript. */
function onlyOne<F extends string>(when: unknown, fields: readonly F[]): [F, unknown] {
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
