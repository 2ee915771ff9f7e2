/** The number of the transaction that is open, if it has one. */
export const PRESENT_NUMBER = 'pg_catalog.pg_current_xact_id_if_assigned()::text';

interface TextStatement {
  text: string;
  /** The parameter of each placeholder; 0 is the transaction's number. */
  order: readonly number[];
}

/** Statements differ by the filters that they contain, and few of these occur. */
const KEPT_MAX = 1_000;
const kept = new Map<string, TextStatement>();

/**
 * A statement in the one form that every library sends unchanged (docs/adr/0019): each placeholder
 * once, in ascending order, its value a text or null. Libraries infer types from values, replace
 * `$1` by `?`, or send an array as JSON.
 * @param number of a transaction; outside it every parameter is NULL
 */
export function asTexts(
  sql: string,
  parameters: readonly unknown[],
  number?: string,
): { text: string; values: (string | null)[] } {
  const key = number === undefined ? sql : `inside ${sql}`;
  let statement = kept.get(key);
  if (statement === undefined) {
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(key, (statement = rewrite(sql, number !== undefined)));
  }
  const all = [number, ...parameters];
  return { text: statement.text, values: statement.order.map((index) => toText(all[index])) };
}

function rewrite(sql: string, isInside: boolean): TextStatement {
  const order: number[] = [];
  const next = (index: number): string => `$${order.push(index)}::text`;
  const text = sql.replaceAll(/\$(\d+)/g, (_, digits: string) =>
    isInside
      ? `(CASE WHEN ${PRESENT_NUMBER} = ${next(0)} THEN ${next(Number(digits))} END)`
      : next(Number(digits)),
  );
  return { text, order };
}

/** Rows as the server named their columns: an application may have its library name them otherwise. */
export function asColumns(rows: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const [first = {}] = rows;
  if (Object.keys(first).every((name) => COLUMN.test(name))) return [...rows];
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [toColumn(name), value])),
  );
}

const COLUMN = /^[a-z_]+$/;

/** `dueMs`, `DueMs`, `due-ms` and `DUE_MS` become `due_ms`. */
const toColumn = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')
    .replaceAll('-', '_')
    .toLowerCase();

/** Parameters are texts, numbers and null. */
const toText = (value: unknown): string | null =>
  typeof value === 'string' || value === null || value === undefined
    ? (value ?? null)
    : JSON.stringify(value);
