import { inspect } from 'node:util';
import { isProxy } from 'node:util/types';

/** FullNames for the first lines of any message, and small enough for a row. */
const ERROR_BYTES_MAX = 4_096;

const ELLIPSIS = '…';
const ELLIPSIS_BYTES = Buffer.byteLength(ELLIPSIS);
const REPLACEMENT = '\u{FFFD}';

/**
 * Text of any thrown value, safe to store in Postgres: `Name: message`, with the first cause. No
 * NUL, well-formed Unicode, at most 4,096 bytes of UTF-8. Never throws.
 *
 * ```ts
 * describeError(new Error('no stock', { cause: new Error('23514') }));
 * // 'Error: no stock (cause: Error: 23514)'
 * ```
 */
export function describeError(error: unknown): string {
  try {
    return fit(withCause(error));
  } catch {
    return fit('an error that cannot be described');
  }
}

/** Characters that a non-UTF-8 encoding of Postgres cannot hold. Only LATIN1 is known here. */
const HELD: Readonly<Record<string, RegExp>> = { LATIN1: /[\u{100}-\u{10ffff}]/gu };
const NOT_ASCII = /[\u{80}-\u{10ffff}]/gu;

/**
 * An error text for a database of that encoding. Characters it cannot hold become `\u{20ac}`; UTF8
 * text is unchanged, and encodings unknown here keep only ASCII.
 */
export function storableIn(encoding: string, text: string): string {
  if (encoding === 'UTF8') return text;
  const held = text
    .replaceAll(ELLIPSIS, '...')
    .replace(HELD[encoding] ?? NOT_ASCII, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
  return held.length <= ERROR_BYTES_MAX ? held : `${held.slice(0, ERROR_BYTES_MAX - 3)}...`;
}

/** For a text that the database refused, in an unknown encoding. */
export const inAscii = (text: string): string => storableIn('SQL_ASCII', text);

/** Only the first cause: chains may be cycles, and the first cause says most. */
function withCause(error: unknown): string {
  const cause = read(error, 'cause');
  if (cause !== undefined && cause !== null)
    return `${headline(error)} (cause: ${headline(cause)})`;
  const errors = read(error, 'errors');
  if (Array.isArray(errors) && errors.length > 0) {
    return `${headline(error)} (first of ${errors.length}: ${headline(errors[0])})`;
  }
  return headline(error);
}

function headline(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = read(error, 'message');
  if (typeof message !== 'string') return inspected(error);
  const name = read(error, 'name');
  const label = typeof name === 'string' && name !== '' ? name : 'Error';
  return message === '' ? label : `${label}: ${message}`;
}

function read(error: unknown, property: string): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  try {
    return Reflect.get(error, property);
  } catch {
    return undefined;
  }
}

/** `inspect` limits elements and texts but not keys: 100,000 keys took it 0.2 to 0.6 s. */
const KEYS_MAX = 100;

/** Levels shown below a thrown object. */
const SHOWN_DEPTH = 1;

function inspected(value: unknown): string {
  try {
    if (hasManyKeys(value, SHOWN_DEPTH)) return `an object of more than ${KEYS_MAX} keys`;
    return inspect(value, {
      depth: SHOWN_DEPTH,
      customInspect: false,
      maxArrayLength: 10,
      maxStringLength: 500,
      breakLength: Infinity,
    });
  } catch {
    return 'a value that cannot be described';
  }
}

/** Checks as deep as is shown, and calls neither getters nor proxy traps. */
function hasManyKeys(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || isProxy(value)) return false;
  // `inspect` shows only the first elements of these.
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const keys = Reflect.ownKeys(value);
  if (keys.length > KEYS_MAX || depth === 0) return keys.length > KEYS_MAX;
  return keys.some((key) =>
    hasManyKeys(Reflect.getOwnPropertyDescriptor(value, key)?.value, depth - 1),
  );
}

function fit(text: string): string {
  // A UTF-16 unit takes at least one byte, so later units cannot fit.
  const clean = text
    .slice(0, ERROR_BYTES_MAX)
    .replaceAll('\0', REPLACEMENT)
    .replace(/\p{Surrogate}/gu, REPLACEMENT);
  if (text.length <= ERROR_BYTES_MAX && Buffer.byteLength(clean) <= ERROR_BYTES_MAX) return clean;
  // `encodeInto` stops before the first character that does not fit whole.
  const room = new Uint8Array(ERROR_BYTES_MAX - ELLIPSIS_BYTES);
  const { read: fitting } = new TextEncoder().encodeInto(clean, room);
  return clean.slice(0, fitting) + ELLIPSIS;
}
