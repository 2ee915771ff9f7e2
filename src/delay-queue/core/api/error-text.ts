import { inspect } from 'node:util';
import { isProxy } from 'node:util/types';

/** Enough for the first lines of any message, and small enough for a row. */
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
    return fit(headlineWithCause(error));
  } catch {
    return fit('an error that cannot be described');
  }
}

/** Only the first cause: chains may be cycles, and the first cause says most. */
function headlineWithCause(error: unknown): string {
  const cause = readProperty(error, 'cause');
  if (cause !== undefined && cause !== null)
    return `${headline(error)} (cause: ${headline(cause)})`;
  const errors = readProperty(error, 'errors');
  if (Array.isArray(errors) && errors.length > 0) {
    return `${headline(error)} (first of ${errors.length}: ${headline(errors[0])})`;
  }
  return headline(error);
}

function headline(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = readProperty(error, 'message');
  if (typeof message !== 'string') return inspected(error);
  const name = readProperty(error, 'name');
  const label = typeof name === 'string' && name !== '' ? name : 'Error';
  return message === '' ? label : `${label}: ${message}`;
}

function readProperty(error: unknown, property: string): unknown {
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

/** Longest text that is printed, in characters. */
const PRINTED_LENGTH_MAX = 8_192;

/** Frames of a stack, and characters of each frame. */
const FRAMES_MAX = 50;
const FRAME_LENGTH_MAX = 500;
/** Longest stack that is read: a message may have any length. */
const STACK_LENGTH_MAX = 100_000;

/**
 * Characters that act on a terminal or a log: line breaks and other controls (ESC, so every
 * terminal sequence, and C1), line and paragraph separators, marks of text direction, invisible
 * characters, and lone surrogates.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * A text from outside (a key, group, name or error message) made safe to show: on one line,
 * controls escaped like `\u001b`, at most `lengthMax` characters. All log lines, error messages
 * that quote a text, and command output go through it.
 *
 * ```ts
 * printable('42\n[Nest] paid'); // '42\\n[Nest] paid'
 * ```
 */
export function printable(text: string, lengthMax = PRINTED_LENGTH_MAX): string {
  const isLong = text.length > lengthMax;
  const kept = isLong ? text.slice(0, lengthMax) : text;
  const shown = ACTS.test(kept) ? kept.replaceAll(ACTING, escapeChar) : kept;
  return isLong ? `${shown}…` : shown;
}

/** In quotes, as messages show a key. */
export const quoted = (text: string, lengthMax?: number): string => {
  const json = JSON.stringify(text);
  return `"${printable(json.slice(1, -1), lengthMax)}"`;
};

function escapeChar(char: string): string {
  const short = SHORT[char];
  if (short !== undefined) return short;
  const hex = (char.codePointAt(0) as number).toString(16);
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

/**
 * An error as a log shows it: its text on one line, and its stack frames below. A message made of a
 * customer's text adds no line, not even one that looks like a frame.
 */
export const printableError = (error: unknown): string =>
  `${printable(describeError(error))}${stackFrames(error)}`;

const FRAME = /^\s+at .+$/;

/** The stack frames of an error, one line each, each after a line break. Never throws. */
export function stackFrames(error: unknown): string {
  try {
    if (!(error instanceof Error)) return '';
    const { message } = error;
    const stack = String(error.stack).slice(0, STACK_LENGTH_MAX);
    const at = stack.indexOf(message);
    // A message changed since has no known end in the stack. The frames are its last lines.
    const lines = (at < 0 ? stack : stack.slice(at + message.length)).split('\n');
    const frames = lines.slice(lines.findLastIndex((line) => !FRAME.test(line)) + 1);
    return frames
      .slice(0, FRAMES_MAX)
      .map((frame) => `\n    ${printable(frame.trim(), FRAME_LENGTH_MAX)}`)
      .join('');
  } catch {
    return '';
  }
}

/** Units of a duration, in seconds. */
const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A duration for people, in its two largest units: `12 min 4 s`, `250 ms`. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1_000);
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[at] as (typeof UNITS)[number];
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1]);
  const first = `${Math.floor(seconds / size)} ${unit}`;
  return next === undefined || rest === 0 ? first : `${first} ${rest} ${next[0]}`;
}
