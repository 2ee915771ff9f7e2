import ms from 'ms';
import { DelayInvalidError } from '../api/errors.js';
import { shown } from './blame.js';

/** Longest duration: a hundred years of 365.25 days. */
export const DURATION_MS_MAX = 100 * 365.25 * 24 * 60 * 60 * 1000;

/** Longest text that `ms` reads. */
const TEXT_LENGTH_MAX = 100;

/** A double holds 15 decimal digits for certain; further digits are noise. */
const EXACT_DIGITS = 15;

/** `ms` reads such a text as milliseconds, but it may mean seconds or minutes. */
const WITHOUT_UNIT = /^-?\d*\.?\d+ *$/;

/**
 * Milliseconds of a `Duration`: a number of milliseconds, or a text of the `ms` package.
 *
 * ```ts
 * parseDurationMs('30m', 'after'); // 1_800_000
 * parseDurationMs(0.2, 'after');   // 1: rounded up, never early
 * ```
 * @returns whole milliseconds, 0 to {@link DURATION_MS_MAX}
 * @throws DelayInvalidError for NaN, Infinity, negatives, `'30x'`, `'60'`, `''`, objects
 */
export function parseDurationMs(value: unknown, field: string): number {
  const rawMs = typeof value === 'string' ? textMs(value, field) : value;
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
  // `+ 0` turns -0 into 0.
  if (Number.isInteger(rawMs)) return rawMs + 0;
  // '1.1h' is 3,960,000.0000000005 in binary; rounding up would add a millisecond.
  return Math.ceil(Number(rawMs.toPrecision(EXACT_DIGITS)));
}

/** A bound as a text: messages read like the options. */
export type Bound = ms.StringValue;

/** {@link parseDurationMs} within both bounds, inclusive. */
export function parseDurationBetween(
  value: unknown,
  field: string,
  min: Bound,
  max: Bound,
): number {
  const valueMs = parseDurationMs(value, field);
  if (valueMs < ms(min) || valueMs > ms(max)) {
    throw new DelayInvalidError(field, `must be from ${min} to ${max}, not ${shown(value)}`);
  }
  return valueMs;
}

function textMs(text: string, field: string): number | undefined {
  if (!isReadable(text)) return undefined;
  // Zero is the same in every unit.
  if (!WITHOUT_UNIT.test(text) || Number(text) === 0) return ms(text);
  const number = text.trim().replace('-', '');
  throw new DelayInvalidError(
    field,
    `has no unit: ${shown(text)}. Write '${number}s' for seconds, or the number ${number} for milliseconds`,
  );
}

/** `ms` throws for `''`. For other texts that it cannot read, it returns `undefined`. */
function isReadable(text: string): text is ms.StringValue {
  return text !== '' && text.length <= TEXT_LENGTH_MAX;
}

/** @throws DelayInvalidError unless `value` is a whole number from `min` to `max` */
export function checkInteger(value: unknown, field: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value;
  }
  throw new DelayInvalidError(
    field,
    `must be a whole number from ${min} to ${max}, not ${shown(value)}`,
  );
}
