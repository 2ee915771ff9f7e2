/** What a line of a log holds of one text. */
const PRINTED_LENGTH_MAX = 4_096;

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

/** A text of several lines of our own making: each line is fit to be shown, and they stay lines. */
export const printableLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => printable(line))
    .join('\n');

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
