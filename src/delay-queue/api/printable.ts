import { Logger } from '@nestjs/common';
import { describeError } from './error-text.js';

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
  const shown = ACTS.test(kept) ? kept.replaceAll(ACTING, escaped) : kept;
  return isLong ? `${shown}…` : shown;
}

/** In quotes, as messages show a key. */
export const quoted = (text: string, lengthMax?: number): string => {
  const json = JSON.stringify(text);
  return `"${printable(json.slice(1, -1), lengthMax)}"`;
};

function escaped(char: string): string {
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
  `${printable(describeError(error))}${framesOf(error)}`;

const FRAME = /^\s+at .+$/;

/** The stack frames of an error, one line each, each after a line break. Never throws. */
function framesOf(error: unknown): string {
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

/**
 * The only way into Nest's logger. Each call logs one line, whatever a key, name or error contains,
 * and stack frames below it.
 */
export class LogLines {
  readonly #logger: Logger;

  constructor(context: string) {
    this.#logger = new Logger(context);
  }

  debug(line: string): void {
    this.#logger.debug(printable(line));
  }

  log(line: string): void {
    this.#logger.log(printable(line));
  }

  /** @param cause its stack frames are logged, too */
  warn(line: string, cause?: unknown): void {
    this.#logger.warn(`${printable(line)}${framesOf(cause)}`);
  }

  /** @param cause its stack frames are logged, too */
  error(line: string, cause?: unknown): void {
    this.#logger.error(`${printable(line)}${framesOf(cause)}`);
  }
}
