import type { DelayHeaders } from '../../api/delay.js';
import type { HistoryKept } from '../../config/options.js';
import { epochMs } from '../../database/tables.js';
import { readAttempts, readMoves, readObject } from './logs.js';

/*
 * The columns of rows that are not read often: one list gives the SQL, the type and the mapper.
 * Statements on the way of each delay, such as the claim, spell theirs out.
 */

/** One column of an answer, as text, and what the store makes of it. */
export interface AnswerColumn<Value> {
  sql: string;
  /** Its name in the answer; default: that of the field, in snake case. */
  name?: string | undefined;
  read: (text: string, answer: TextAnswer) => Value;
}

type AnswerColumns = Record<string, AnswerColumn<unknown>>;

export type RowOf<Of extends AnswerColumns> = {
  [Field in keyof Of]: ReturnType<Of[Field]['read']>;
};

const asColumn = <Value>(
  sql: string,
  cast: string,
  read: (text: never, answer: TextAnswer) => Value,
): AnswerColumn<Value> => ({
  sql: `${sql}${cast}`,
  name: /^\w+\.(\w+)$/.exec(sql)?.[1],
  read: read as AnswerColumn<Value>['read'],
});

/** Null stays null, and undefined (the statement lacks the column) stays undefined. */
export function toNumber(text: string): number;
export function toNumber(text: string | null): number | null;
export function toNumber(text: string | null): number | null {
  return typeof text === 'string' ? Number(text) : text;
}

/** The limit of a `Date`, at both ends. */
const DATE_MS_MAX = 8.64e15;

/** An instant for a caller; infinity and years beyond a `Date` become its last instant. */
export function toInstantMs(text: string): number;
export function toInstantMs(text: string | null): number | null;
export function toInstantMs(text: string | null): number | null {
  const ms = toNumber(text);
  return typeof ms === 'number' ? Math.min(DATE_MS_MAX, Math.max(-DATE_MS_MAX, ms)) : ms;
}

/** @param name of the column, if it is neither that of the field nor in the SQL */
export const asText = <Text extends string | null = string>(
  sql: string,
  name?: string,
): AnswerColumn<Text> => ({ ...asColumn(sql, '', (text: Text) => text), ...(name && { name }) });

/** @param read gets the parsed value; null stands for NULL */
export const asParsed = <Value>(
  sql: string,
  read: (value: unknown, answer: TextAnswer) => Value = (value) => value as Value,
): AnswerColumn<Value> =>
  asColumn(sql, '::text', (text: string | null, answer) =>
    read(JSON.parse(text ?? 'null'), answer),
  );

/** A text still to be parsed. */
export const asJson = (sql: string): AnswerColumn<string | null> =>
  asColumn(sql, '::text', (text: string | null) => text);

export const asNumber = <Value extends number | null = number>(sql: string): AnswerColumn<Value> =>
  asColumn(sql, '::text', (text: string) => toNumber(text) as Value);

/** An instant in milliseconds since 1970. */
export const asMs = <Value extends number | null = number>(sql: string): AnswerColumn<Value> =>
  asColumn(sql, '::text', (text: string) => toInstantMs(text) as Value);

export const asInstant = (sql: string): AnswerColumn<number> => asMs(epochMs(sql));

/** @param ms SQL for its milliseconds since 1970 */
export const asDate = <Value extends Date | null = Date>(ms: string): AnswerColumn<Value> =>
  asColumn(ms, '::text', (text: string | null) => {
    const instantMs = toInstantMs(text);
    return (typeof instantMs === 'number' ? new Date(instantMs) : instantMs) as Value;
  });

export const asFlag = (sql: string): AnswerColumn<boolean> =>
  asColumn(sql, '::text', (text: string) => text === 'true');

const columnName = (field: string, { name }: AnswerColumn<unknown>): string =>
  name ?? field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The same columns, taken from a row `of` that has them under their names. */
export const takenFrom = <Of extends AnswerColumns>(of: string, columns: Of): Of =>
  Object.fromEntries(
    Object.entries(columns).map(([field, one]) => {
      const name = columnName(field, one);
      return [field, { sql: `${of}.${name}`, name, read: one.read }];
    }),
  ) as Of;

/** The columns after SELECT. */
export const selected = (columns: AnswerColumns): string =>
  Object.entries(columns)
    .map(([field, one]) => {
      const name = columnName(field, one);
      return one.sql.endsWith(`.${name}`) ? one.sql : `${one.sql} AS ${name}`;
    })
    .join(',\n       ');

export type TextAnswer = Record<string, string | null>;

/** Makes rows of answers that have these columns. */
export function reader<Of extends AnswerColumns>(columns: Of): (answer: TextAnswer) => RowOf<Of> {
  const fields = Object.entries(columns).map(([field, one]) => ({
    field,
    name: columnName(field, one),
    read: one.read as (text: string | null | undefined, answer: TextAnswer) => unknown,
  }));
  return (answer) => {
    const row: Record<string, unknown> = {};
    for (const { field, name, read } of fields) row[field] = read(answer[name], answer);
    return row as RowOf<Of>;
  };
}

/**
 * What a call may set beside its payload, by option: the column and its type. Each is NULL in most
 * rows. `rerun` and `history` have these columns too. See "A new column" in CONTRIBUTING.md.
 */
export const EXTRAS = {
  group: { column: 'group_id', type: 'text' },
  headers: { column: 'headers', type: 'jsonb' },
} as const satisfies Record<string, { column: string; type: 'text' | 'jsonb' }>;

export type Extra = keyof typeof EXTRAS;

/** By option; of a `jsonb` column, the JSON text. */
export type StoredExtras = Record<Extra, string | null>;

export const EXTRA_NAMES = Object.keys(EXTRAS) as Extra[];

export const EXTRA_COLUMNS: readonly string[] = EXTRA_NAMES.map((extra) => EXTRAS[extra].column);

/** SQL for the value of each, from a JSON text that has them by option. */
export const extrasFrom = (json: string): string[] =>
  EXTRA_NAMES.map(
    (extra) => `${json}::jsonb ${EXTRAS[extra].type === 'text' ? '->>' : '->'} '${extra}'::text`,
  );

/** The extras of row `d`, and the logs that it keeps. */
export const EXTRAS_AND_LOGS = {
  group: asText<string | null>('d.group_id'),
  headers: asParsed('d.headers', (headers) => (readObject(headers) ?? {}) as DelayHeaders),
  attemptLog: asParsed('d.attempt_log', (log, { state }) => readAttempts(log, state === 'running')),
  moveLog: asParsed('d.move_log', readMoves),
} satisfies Record<Extra | 'attemptLog' | 'moveLog', AnswerColumn<unknown>>;

/** Columns that only the history row needs. */
export const historyExtras = (kept: HistoryKept): string[] =>
  kept === 'nothing'
    ? []
    : [...EXTRA_COLUMNS, 'move_log', ...(kept === 'attempts' ? ['attempt_log'] : [])];

/** The same, to append to other columns. */
export const andLogged = (kept: HistoryKept, of = ''): string =>
  historyExtras(kept)
    .map((column) => `, ${of}${column}`)
    .join('');
