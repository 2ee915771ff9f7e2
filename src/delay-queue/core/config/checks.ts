import { DelayInvalidError } from '../api/errors.js';
import { shown } from './shown.js';

/** Reads a value, or refuses it with a `DelayInvalidError` of that field. */
export type ValueCheck<Value> = (value: unknown, field: string) => Value;

/** What is checked elsewhere, or later. */
export const asGiven: ValueCheck<never> = (value) => value as never;

export const flag: ValueCheck<boolean> = (value, field) => {
  if (typeof value === 'boolean') return value;
  throw new DelayInvalidError(field, `must be true or false, not ${shown(value)}`);
};

/** @param wanted the text that would be right, for the message */
export const textMatching =
  (pattern: RegExp, wanted: string): ValueCheck<string> =>
  (value, field) => {
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw new DelayInvalidError(field, `must be ${wanted}, not ${shown(value)}`);
  };

/** @param example for the message */
export const nameLike = (example: string): ValueCheck<string> =>
  textMatching(
    /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/,
    `a text like '${example}': 1 to 100 letters, digits and ._:/-, beginning with a letter or digit`,
  );

export const text =
  (lengthMax: number): ValueCheck<string> =>
  (value, field) =>
    checkText(value, field, lengthMax);

export const choice =
  <const Word extends string>(words: readonly Word[]): ValueCheck<Word> =>
  (value, field) => {
    const known = words.find((word) => word === value);
    if (known !== undefined) return known;
    const all = words.length === 2 ? `'${words.join("' or '")}'` : `one of ${words.join(', ')}`;
    throw new DelayInvalidError(field, `must be ${all}, not ${shown(value)}`);
  };

/** `Array.prototype` is itself an array; the prototype of a subclass is not. */
export function isPlainArray(value: object): value is unknown[] {
  return Array.isArray(value) && Array.isArray(Object.getPrototypeOf(value));
}

/** One value, or a plain array of them. */
export const oneOrMany =
  <Value>(max: number, check: ValueCheck<Value>): ValueCheck<Value[]> =>
  (value, field) => {
    if (!Array.isArray(value)) return [check(value, field)];
    if (!isPlainArray(value) || value.length < 1 || value.length > max) {
      throw new DelayInvalidError(field, `must be a single value or a plain array of 1 to ${max}`);
    }
    return Array.from(value, (one) => check(one, field));
  };

export const KEY_LENGTH_MAX = 255;

/** With the flag `u`, this matches only lone surrogates. */
export const LONE_SURROGATE = /\p{Surrogate}/u;

const delayName = nameLike('order.close');

/** The name of a kind of delay, like `order.close`: 1 to 100 characters. */
export function checkName(value: unknown): string {
  return delayName(value, 'name');
}

/**
 * A business key: 1 to 255 UTF-16 units, anything that Postgres can store as text. Numbers are
 * refused, not converted: `42` and `'42'` must not be two ways to say one key.
 */
export function checkKey(value: unknown): string {
  return checkText(value, 'key', KEY_LENGTH_MAX);
}

/** A group: 1 to 255 UTF-16 units, and no numbers, as for keys. */
export function checkGroup(value: unknown): string {
  return checkText(value, 'group', KEY_LENGTH_MAX);
}

/** A text of at least one UTF-16 unit that Postgres can store. */
export function checkText(value: unknown, field: string, lengthMax: number): string {
  if (typeof value !== 'string') {
    throw new DelayInvalidError(field, `must be a text, not ${shown(value)}`);
  }
  if (value.length < 1 || value.length > lengthMax) {
    throw new DelayInvalidError(
      field,
      `must have 1 to ${lengthMax} characters, but has ${value.length}`,
    );
  }
  if (value.includes('\0')) {
    throw new DelayInvalidError(field, 'must not contain NUL, which Postgres cannot store');
  }
  if (LONE_SURROGATE.test(value)) {
    throw new DelayInvalidError(field, 'must be well-formed Unicode, without lone surrogates');
  }
  return value;
}

const ID_PATTERN = /^[1-9]\d{0,15}$/;

/** The `id` of a delay, as in results and handlers: a text of digits. */
export function checkId(value: unknown, field = 'id'): number {
  const id = typeof value === 'string' && ID_PATTERN.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(id)) return id;
  throw new DelayInvalidError(field, `must be the id of a delay, like '42', not ${shown(value)}`);
}

/** A whole number within both bounds, inclusive. */
export const integer =
  (min: number, max: number): ValueCheck<number> =>
  (value, field) => {
    if (Number.isInteger(value) && isWithin(value, min, max)) return value;
    throw new DelayInvalidError(
      field,
      `must be a whole number from ${min} to ${max}, not ${shown(value)}`,
    );
  };

/** Any number within both bounds, inclusive. */
export const number =
  (min: number, max: number): ValueCheck<number> =>
  (value, field) => {
    if (isWithin(value, min, max)) return value;
    throw new DelayInvalidError(
      field,
      `must be a number from ${min} to ${max}, not ${shown(value)}`,
    );
  };

const isWithin = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && value >= min && value <= max;
