/** The last id, and the last epoch, that JavaScript can distinguish from its neighbors. */
const SAFE_MAX = String(Number.MAX_SAFE_INTEGER);

/** What a column of `delay` must be so that every statement and every node can read its row. */
interface RowRule {
  column: string;
  /** SQL that is false, and not NULL, for a value that breaks the rule. */
  holds: (column: string) => string;
  /** Follows the column's name. */
  must: string;
}

const isInstantSql = (column: string): string =>
  `${column} >= '0001-01-01 00:00:00+00' AND ${column} < '10000-01-01 00:00:00+00'`;
const AN_INSTANT = 'must be an instant of the years 1 to 9999';

/** A text of at most 255 UTF-16 units, each at most three bytes of UTF-8. */
const isText = (column: string): string => `pg_catalog.octet_length(${column}) BETWEEN 1 AND 765`;
const A_TEXT = 'must be a text of 1 to 255 characters, or NULL';

/**
 * Every reader tolerates a row that breaks a rule, and such a row is set aside (`setAsideSql`). The
 * payload has no rule: any JSON can be read, and what it means is the handler's business.
 */
const ROW_RULES = [
  {
    column: 'id',
    holds: (id) => `${id} BETWEEN 1 AND ${SAFE_MAX}`,
    must: `must be from 1 to ${SAFE_MAX}`,
  },
  { column: 'due_at', holds: isInstantSql, must: AN_INSTANT },
  {
    column: 'wake_at',
    holds: (at) => `${isInstantSql(at)} OR ${at} = 'infinity'`,
    must: `${AN_INSTANT}, or infinity`,
  },
  { column: 'leased_until', holds: isInstantSql, must: `${AN_INSTANT}, or NULL` },
  { column: 'created_at', holds: isInstantSql, must: AN_INSTANT },
  {
    column: 'epoch',
    holds: (epoch) => `${epoch} BETWEEN 0 AND ${SAFE_MAX}`,
    must: `must be from 0 to ${SAFE_MAX}`,
  },
  { column: 'attempts', holds: (count) => `${count} >= 0`, must: 'must not be negative' },
  { column: 'max_attempts', holds: (most) => `${most} > 0`, must: 'must be at least 1, or NULL' },
  {
    column: 'name',
    holds: (name) => `pg_catalog.octet_length(${name}) BETWEEN 1 AND 100`,
    must: 'must be a text of 1 to 100 characters',
  },
  { column: 'key', holds: isText, must: A_TEXT },
  { column: 'group_id', holds: isText, must: A_TEXT },
  {
    column: 'headers',
    holds: (headers) =>
      `pg_catalog.jsonb_typeof(${headers}) = 'object' AND NOT ${headers} @? '$.* ? (@.type() <> "string")'::jsonpath`,
    must: 'must be an object of texts, or NULL',
  },
  {
    column: 'repeat',
    holds: (repeat) => `pg_catalog.jsonb_typeof(${repeat}) = 'object'`,
    must: 'must be an object, or NULL',
  },
  {
    column: 'attempt_log',
    holds: (log) => `pg_catalog.jsonb_typeof(${log}) = 'array'`,
    must: 'must be an array, or NULL',
  },
  {
    column: 'move_log',
    holds: (log) => `pg_catalog.jsonb_typeof(${log}) = 'array'`,
    must: 'must be an array, or NULL',
  },
] as const satisfies readonly RowRule[];

type RuledColumn = (typeof ROW_RULES)[number]['column'];

/** What hand-written SQL breaks most easily: `due_at = wake_at` of a dead letter is infinite. */
const CONSTRAINED = ['due_at', 'leased_until'] as const satisfies readonly RuledColumn[];

/**
 * The table's constraints, one per column, so that an error names the column. A constraint per rule
 * would promise nothing more, and would make an INSERT of one row half as expensive again: Postgres
 * reads and plans each of them for every statement (ADR 0002).
 */
export const rowConstraints = (): string =>
  CONSTRAINED.map(
    (column) => `CONSTRAINT delay_${column}_readable CHECK (isfinite(${column}))`,
  ).join(',\n       ');

/** SQL for what is wrong with row `d`; NULL: nothing. */
export const wrongWith = (row: string): string =>
  `CASE ${ROW_RULES.map(
    ({ column, holds, must }) =>
      `WHEN NOT (${holds(`${row}.${column}`)}) THEN '${unreadable(column, must)}'`,
  ).join('\n            ')} END`;

/** The same text for one column. */
export function isUnreadable(column: RuledColumn): string {
  const rule = ROW_RULES.find((each) => each.column === column);
  return unreadable(column, rule?.must ?? '');
}

/** What the error of a row that was set aside begins with. */
export const SET_ASIDE_TEXT = 'the row cannot be read, and was set aside: ';

const unreadable = (column: string, must: string): string => `${SET_ASIDE_TEXT}${column} ${must}`;
