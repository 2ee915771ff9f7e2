import type { OnConflict } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { blamedOn, readable, shown } from './known-options.js';
import { checkInteger } from './durations.js';

const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/;
const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,47}$/;
/** Schemas that the library may not fill, and that reverting its migration may not drop. */
const FOREIGN_SCHEMA = /^(?:public|information_schema|pg_.*)$/;
const KEY_LENGTH_MAX = 255;
const MAX_ATTEMPTS_MAX = 1_000;
const ON_CONFLICT: readonly OnConflict[] = ['replace', 'keep', 'error', 'earlier', 'later'];

/** With the flag `u`, this matches only lone surrogates. */
export const LONE_SURROGATE = /\p{Surrogate}/u;

/** The name of a kind of delay, like `order.close`: 1 to 100 characters. */
export function checkName(value: unknown): string {
  if (typeof value === 'string' && NAME_PATTERN.test(value)) return value;
  throw new DelayInvalidError(
    'name',
    `must be a text like 'order.close': 1 to 100 letters, digits and ._:/-, ` +
      `beginning with a letter or digit, not ${shown(value)}`,
  );
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
export function checkId(value: unknown): number {
  const id = typeof value === 'string' && ID_PATTERN.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(id)) return id;
  throw new DelayInvalidError('id', `must be the id of a delay, like '42', not ${shown(value)}`);
}

/** Attempts before a delay becomes a dead letter: 1 to 1,000. */
export function checkMaxAttempts(value: unknown): number {
  return checkInteger(value, 'maxAttempts', 1, MAX_ATTEMPTS_MAX);
}

export function checkOnConflict(value: unknown): OnConflict {
  const known = ON_CONFLICT.find((choice) => choice === value);
  if (known !== undefined) return known;
  throw new DelayInvalidError(
    'onConflict',
    `must be one of ${ON_CONFLICT.join(', ')}, not ${shown(value)}`,
  );
}

/** A schema name that needs no quotes and leaves room for suffixes within Postgres's 63 bytes. */
export function checkSchema(value: unknown): string {
  if (typeof value === 'string' && FOREIGN_SCHEMA.test(value)) {
    throw new DelayInvalidError(
      'schema',
      `must be a schema of the library's own, not ${shown(value)}`,
    );
  }
  if (typeof value === 'string' && SCHEMA_PATTERN.test(value)) return value;
  throw new DelayInvalidError(
    'schema',
    `must be 1 to 48 lower-case letters, digits and _, not beginning with a digit, ` +
      `not ${shown(value)}`,
  );
}

const HEADERS_MAX = 32;
const NAME_LENGTH_MAX = 100;
const BYTES_MAX = 4_096;

/**
 * Texts by name, like the headers of a request: at most 32, 4 KiB together.
 * @returns JSON text; null if there are none
 */
export function checkHeaders(value: unknown): string | null {
  return readable('headers', () => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new DelayInvalidError('headers', `must be an object of texts, not ${shown(value)}`);
    }
    const entries = Object.entries(value);
    if (entries.length === 0) return null;
    if (entries.length > HEADERS_MAX) {
      throw new DelayInvalidError(
        'headers',
        `must be at most ${HEADERS_MAX}, not ${entries.length}`,
      );
    }
    const headers = blamedOn('headers', () =>
      entries.map(([name, text]) => {
        checkText(name, 'name', NAME_LENGTH_MAX);
        return [name, text === '' ? '' : checkText(text, name, BYTES_MAX)] as const;
      }),
    );
    const json = JSON.stringify(Object.fromEntries(headers));
    const bytes = Buffer.byteLength(json);
    if (bytes <= BYTES_MAX) return json;
    throw new DelayInvalidError('headers', `must take at most ${BYTES_MAX} bytes, not ${bytes}`);
  });
}
