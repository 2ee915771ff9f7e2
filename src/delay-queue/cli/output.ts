import { inWords, printable } from '../core/index.js';
import { grouped } from '../ops/checks/words.js';
import type { Context } from './terminal.js';

/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  /** Numbers stand at the right. */
  of: (row: Row) => string | number | null | undefined;
  /** Longer texts are cut. */
  widthMax?: number;
}

const EMPTY = '-';

/** An aligned table. Every text in it is safe to print. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(({ of, widthMax }) => cellOf(of(row), widthMax)));
  const isNumber = columns.map(({ of }) => isOfNumbers(rows.map(of)));
  const titles = columns.map(({ title }) => title);
  const widths = columns.map((_, at) =>
    Math.max(...[titles, ...cells].map((line) => widthOf(line[at] ?? ''))),
  );
  return [titles, ...cells]
    .map((line) =>
      line
        .map((cell, at) => {
          const pad = ' '.repeat((widths[at] ?? 0) - widthOf(cell));
          return isNumber[at] ? pad + cell : cell + pad;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const isOfNumbers = (values: readonly unknown[]): boolean =>
  values.some((value) => typeof value === 'number') &&
  values.every((value) => typeof value !== 'string');

/** What a terminal shows in two columns: East Asia's wide and fullwidth characters, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/gu;

/** Marks over the character before them. */
const COMBINING = /[\p{Mn}\p{Me}]/gu;

/** In columns of a terminal. Node's own count is not public. */
const widthOf = (text: string): number =>
  Array.from(text.replaceAll(COMBINING, '').replaceAll(WIDE, '  ')).length;

function cellOf(value: string | number | null | undefined, widthMax?: number): string {
  if (value === null || value === undefined || value === '') return EMPTY;
  return typeof value === 'number' ? grouped(value) : printable(value, widthMax);
}

/** What acts on a terminal and JSON leaves as it is: DEL, C1, marks of direction, invisible ones. */
const ACTING = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON, for scripts and for people who look at it: it says the same, and acts on no terminal. */
export const jsonOf = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(ACTING, (char) =>
    Array.from(
      { length: char.length },
      (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );

/** Prints one of both. */
export function print(
  { given, terminal }: Pick<Context, 'given' | 'terminal'>,
  document: unknown,
  text: () => string,
): void {
  terminal.out(given.has('json') ? jsonOf(document) : text());
}

export const instant = (at: Date | null): string | null => at?.toISOString() ?? null;

/** `4 min 12 s`, `-250 ms`. */
export function duration(ms: number | null): string | null {
  if (ms === null) return null;
  return `${ms < 0 ? '-' : ''}${inWords(Math.abs(ms))}`;
}
