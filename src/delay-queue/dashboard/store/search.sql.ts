import { asInstant, clock, ENDED, ON_PRIMARY, selected, type Tables } from '../../core/ops.js';

/**
 * The order of a search: live delays by wake, the newest dead letters first, or the newest ends
 * first. Each is the order of an index.
 */
export type SearchOrder = 'wake' | 'dead' | 'ended';

/**
 * How it finds them. `walk`: it reads rows in that order, a limited number, and looks at each.
 * `few`: an index leads to few rows, and these are sorted.
 */
export type SearchWay = 'walk' | 'few';

interface Ordered {
  table: 'delay' | 'history';
  columns: readonly { name: string; type: 'timestamptz' | 'bigint' }[];
  direction: 'ASC' | 'DESC';
  /** Condition on row `d`. */
  within: string;
}

const ID = { name: 'id', type: 'bigint' } as const;

const WAKE = [{ name: 'wake_at', type: 'timestamptz' }, ID] as const;

export const ORDERS: Readonly<Record<SearchOrder, Ordered>> = {
  wake: {
    table: 'delay',
    columns: WAKE,
    direction: 'ASC',
    // Implies the predicate of the index, which the comparison of rows does not.
    within: "d.wake_at >= '-infinity'",
  },
  dead: {
    table: 'delay',
    columns: WAKE,
    direction: 'DESC',
    // With an equality, the planner may walk by id instead, past everything that is not dead.
    within: "d.wake_at >= 'infinity'",
  },
  ended: {
    table: 'history',
    columns: [{ name: 'ended_at', type: 'timestamptz' }, ID, { name: 'epoch', type: 'bigint' }],
    direction: 'DESC',
    within: 'true',
  },
};

/** In UTC, exact in any year, and the same with any `DateStyle`: a position is read back. */
const instantTextSql = (instant: string): string =>
  `CASE WHEN pg_catalog.isfinite(${instant})
        THEN pg_catalog.to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US BC')
        ELSE ${instant}::text END`;

const positionSql = ({ columns }: Ordered): string =>
  `pg_catalog.concat_ws(',', ${columns
    .map(({ name, type }) => (type === 'bigint' ? `d.${name}::text` : instantTextSql(`d.${name}`)))
    .join(', ')})`;

/** `d` comes behind the position of the first parameters. */
const behind = ({ columns, direction }: Ordered): string => {
  const given = columns.map(({ type }, index) =>
    type === 'bigint' ? `$${index + 1}::bigint` : `($${index + 1}::timestamp AT TIME ZONE 'UTC')`,
  );
  const sign = direction === 'ASC' ? '>' : '<';
  return `(${columns.map(({ name }) => `d.${name}`).join(', ')}) ${sign} (${given.join(', ')})`;
};

const orderBySql = ({ columns, direction }: Ordered): string =>
  columns.map(({ name }) => `d.${name} ${direction}`).join(', ');

/**
 * Source `d` of the rows behind a position, at most `$n` of them, before any filter: the outer
 * query stops reading when it has its page.
 */
const walked = (tables: Tables, of: Ordered, range: string): string => `(
  SELECT d.* FROM ${tables[of.table]} d
  WHERE ${of.within} AND ${behind(of)} AND ${range}
  ORDER BY ${orderBySql(of)}
  LIMIT $${of.columns.length + 2}::int
)`;

/**
 * One page of a search. Parameters: the position to start behind, how many, how many rows are read
 * (`walk`), or found at most (`few`); then those of `range` and `where`, conditions on `d`.
 */
export const searchSql = (
  tables: Tables,
  order: SearchOrder,
  way: SearchWay,
  { range, where }: { range: string; where: string },
): string => {
  const of = ORDERS[order];
  const columns = order === 'ended' ? selected(ENDED) : 'd.id::text AS id';
  const source = way === 'walk' ? walked(tables, of, range) : 'few';
  const few = `,
few AS MATERIALIZED (
  SELECT d.* FROM ${tables[of.table]} d WHERE ${of.within} AND ${range} AND ${where}
  LIMIT $${of.columns.length + 2}::int
)`;
  return `
WITH ${clock(tables)}${way === 'few' ? few : ''}
SELECT ${columns}, ${positionSql(of)} AS position
FROM ${source} d
WHERE ${way === 'walk' ? where : behind(of)}
ORDER BY ${orderBySql(of)}
LIMIT $${of.columns.length + 1}::int`;
};

/**
 * The last position that a page of a walk may read; no row: it reads to the end. Parameters: the
 * position to start behind, how many rows before the last, and 1; then those of `range`.
 */
export const walkEndSql = (tables: Tables, order: SearchOrder, range: string): string => {
  const of = ORDERS[order];
  const first = of.columns.length + 1;
  return `
WITH ${clock(tables)}
SELECT ${positionSql(of)} AS position
FROM ${tables[of.table]} d
WHERE ${of.within} AND ${behind(of)} AND ${range}
ORDER BY ${orderBySql(of)}
LIMIT $${first + 1}::int OFFSET $${first}::int`;
};

/**
 * How many match among the rows that a walk reads, and how many it read. Parameters: as those of
 * {@link searchSql}, whose page is not limited here, but takes its parameter.
 */
export const countWalkedSql = (
  tables: Tables,
  order: SearchOrder,
  { range, where }: { range: string; where: string },
): string => {
  const of = ORDERS[order];
  return `
WITH ${clock(tables)}
SELECT pg_catalog.count(*) FILTER (WHERE ${where})::text AS matched, pg_catalog.count(*)::text AS read
FROM ${walked(tables, of, range)} d
WHERE $${of.columns.length + 1}::int IS NOT NULL`;
};

/** How many match, up to a limit. Parameters: the limit; then the filter's. */
export const countUpToSql = (tables: Tables, table: 'delay' | 'history', where: string): string => `
WITH ${clock(tables)}
SELECT pg_catalog.count(*)::text AS count
FROM (SELECT FROM ${tables[table]} d WHERE ${where} LIMIT $1::int) found`;

export const NOW = { nowMs: asInstant('clock.now') };

export const nowSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(NOW)} FROM clock`;

/** A row if any node, pause, limit, or delay with a key has that name. Parameter: name. */
export const isNameSql = ({ node, pause, quota, delay, history }: Tables): string => `
${ON_PRIMARY}
SELECT 'true' AS found
WHERE EXISTS (SELECT FROM ${node} WHERE $1::text = ANY (names))
   OR EXISTS (SELECT FROM ${pause} WHERE name = $1::text)
   OR EXISTS (SELECT FROM ${quota} WHERE name = $1::text)
   OR EXISTS (SELECT FROM ${delay} WHERE name = $1::text AND key IS NOT NULL)
   OR EXISTS (SELECT FROM ${history} WHERE name = $1::text AND key IS NOT NULL)`;
