import { inWords, printable } from '../core/index.js';
import { grouped } from '../ops/checks/words.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  /** Numbers stand at the right. */
  of: (row: Row) => string | number | null | undefined;
  /** Longer texts are cut. */
  widthMax?: number;
}

type Shown = ReturnType<Column<never>['of']>;

/** Columns that show a field under its own name. */
export const fields = <Row>(
  ...names: { [Name in keyof Row]: Row[Name] extends Shown ? Name & string : never }[keyof Row][]
): Column<Row>[] => names.map((title) => ({ title, of: (row) => row[title] as Shown }));

const EMPTY = '-';

/** An aligned table. Every text in it is safe to print. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(({ of, widthMax }) => cellText(of(row), widthMax)));
  const isNumber = columns.map(({ of }) => isOfNumbers(rows.map(of)));
  const titles = columns.map(({ title }) => title);
  const widths = columns.map((_, at) =>
    Math.max(...[titles, ...cells].map((line) => displayWidth(line[at] ?? ''))),
  );
  return [titles, ...cells]
    .map((line) =>
      line
        .map((cell, at) => {
          const pad = ' '.repeat((widths[at] ?? 0) - displayWidth(cell));
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
const displayWidth = (text: string): number =>
  Array.from(text.replaceAll(COMBINING, '').replaceAll(WIDE, '  ')).length;

function cellText(value: string | number | null | undefined, widthMax?: number): string {
  if (value === null || value === undefined || value === '') return EMPTY;
  return typeof value === 'number' ? grouped(value) : printable(value, widthMax);
}

/** What acts on a terminal and JSON leaves as it is: DEL, C1, marks of direction, invisible ones. */
const ACTING = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON, for scripts and for people who look at it: it says the same, and acts on no terminal. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(ACTING, (char) =>
    Array.from(
      { length: char.length },
      (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );

/** Prints one of both. */
export function print(
  { given, terminal }: Pick<CommandContext, 'given' | 'terminal'>,
  document: unknown,
  text: () => string,
): void {
  terminal.out(given.has('json') ? toJson(document) : text());
}

/**
 * Asks, unless --yes was given.
 * @param undone what is said if the answer is no
 * @returns how the command ends; undefined: it goes on
 */
export async function confirm(
  { given, terminal }: CommandContext,
  question: string,
  undone: string,
): Promise<ExitCode | undefined> {
  if (given.has('yes')) return undefined;
  if (!terminal.isInteractive) {
    terminal.err(`${undone}: there is no terminal to ask. Give --yes to go ahead.`);
    return EXIT.WRONG_USAGE;
  }
  const answer = await terminal.ask(question);
  if (answer === 'yes') return undefined;
  terminal.err(`${undone}.`);
  return answer === 'interrupted' ? EXIT.INTERRUPTED : EXIT.FAILED;
}

export const instant = (at: Date | null): string | null => at?.toISOString() ?? null;

/** `4 min 12 s`, `-250 ms`. */
export function duration(ms: number | null): string | null {
  if (ms === null) return null;
  return `${ms < 0 ? '-' : ''}${inWords(Math.abs(ms))}`;
}
