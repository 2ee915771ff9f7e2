import { Logger } from '@nestjs/common';
import { describeError } from './error-text.js';

/** What is shown of one text. */
const PRINTED_LENGTH_MAX = 8_192;

/** Frames of a stack, and characters of each. */
const FRAMES_MAX = 50;
const FRAME_LENGTH_MAX = 500;
/** Of a stack: a message may be of any length. */
const STACK_LENGTH_MAX = 100_000;

/**
 * Characters that act on what shows them: line breaks and other controls (ESC, and so every terminal sequence, and C1),
 * line and paragraph separators, marks that turn the direction of writing, characters without width or without a shape, and
 * halves of surrogate pairs.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * A text from outside (a key, a group, a name, the message of an error), fit to be shown: on one line, with
 * what would act on a terminal or a log written as `\u001b`, and no longer than `lengthMax` characters. The one place for
 * that: log lines, messages of errors that quote a text, what a command prints.
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

/** In quotes, as a message quotes a key. */
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
 * An error as a log shows it: what it says on one line, and the frames of its stack below. A message that was made of a
 * customer's text brings no line of its own, also none that looks like a frame.
 */
export const printableError = (error: unknown): string =>
  `${printable(describeError(error))}${framesOf(error)}`;

const FRAME = /^\s+at .+$/;

/** Where an error was thrown, a line for each frame; each begins with a line break. Never throws. */
function framesOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return '';
    const { message } = error;
    const stack = String(error.stack).slice(0, STACK_LENGTH_MAX);
    const at = stack.indexOf(message);
    // Of a message that has changed since, the lines before the frames are of no known end: the frames are the last lines.
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
 * The one way of the library into Nest's logger: whatever a key, a name or an error says, each call is one line, and the
 * frames of a stack below it.
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

  /** @param cause its frames are told, too */
  warn(line: string, cause?: unknown): void {
    this.#logger.warn(`${printable(line)}${framesOf(cause)}`);
  }

  /** @param cause its frames are told, too */
  error(line: string, cause?: unknown): void {
    this.#logger.error(`${printable(line)}${framesOf(cause)}`);
  }
}
