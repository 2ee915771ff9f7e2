import { ON_PRIMARY, type Tables } from '../../database/tables.js';
import { STAYS_APART } from './fragments/clock.js';
import { BEHIND, deletedPage, OLDEST_FIRST, PAGE_ANSWER } from './history.sql.js';

/*
 * Erases what is stored about one person: rows go without a line of history. By ctid, as the pruner
 * does. What another session locks stays, and is met by the next statement.
 */

/** Where, beside delays and history, something of a person is. */
export type ErasedTable = 'rerun' | 'pause' | 'quota' | 'permit' | 'operationChange';

/** Parameters: limit; then the filter's. Answers how many. */
export const eraseSql = (tables: Tables, place: ErasedTable, filter: string): string => `
WITH gone AS (
  DELETE FROM ${tables[place]} WHERE ctid = ANY (ARRAY(
    SELECT d.ctid FROM ${tables[place]} d WHERE ${filter} LIMIT $1::int FOR UPDATE SKIP LOCKED))
  RETURNING 1 AS one
)
SELECT pg_catalog.count(*)::text AS count FROM gone`;

/** Parameters: the filter's. */
export const countErasedSql = (tables: Tables, place: ErasedTable, filter: string): string => `
${ON_PRIMARY}
SELECT pg_catalog.count(*)::text AS count FROM ${tables[place]} d WHERE ${filter}`;

/** Condition on a permit `d`: no attempt runs under it. */
export const isGivenBack = ({ delay }: Tables): string =>
  `NOT EXISTS (SELECT FROM ${delay} l WHERE l.id = d.id AND l.epoch = d.epoch AND l.leased_by IS NOT NULL)`;

/** CTE `changes`: without the lists of operations on the keys of `of`. */
const withoutChanges = ({ operationChange }: Tables, of: string): string => `
changes AS (
  DELETE FROM ${operationChange} WHERE ctid = ANY (ARRAY(
    SELECT c.at FROM (${of}) g, LATERAL (
      SELECT c.ctid AS at FROM ${operationChange} c WHERE c.key = g.key AND c.name = g.name ${STAYS_APART}
    ) c))
  RETURNING 1 AS one
)`;

/** Parameters: names[], keys[]. */
export const eraseChangesSql = (tables: Tables): string => `
WITH ${withoutChanges(tables, 'SELECT * FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) AS g(name, key)')}
SELECT pg_catalog.count(*)::text AS count FROM changes`;

/**
 * One page of history, and what operations list of its keys. Parameters: limit, and instant, id
 * and epoch of the row to start behind; then the filter's. Answers how many went,
 * and where the page ended.
 * @param way `found`: an index leads to the rows; `walked`: reads the rows of the page, in order
 */
export const eraseHistorySql = (
  tables: Tables,
  filter: string,
  way: 'found' | 'walked',
): string => {
  const { history } = tables;
  const page =
    way === 'found'
      ? `true AS is_meant FROM ${history} d WHERE ${filter} AND ${BEHIND} LIMIT $1::int`
      : `(${filter}) IS TRUE AS is_meant FROM ${history} d WHERE ${BEHIND} ${OLDEST_FIRST}`;
  const keys = 'SELECT DISTINCT name, key FROM gone WHERE key IS NOT NULL';
  return `
WITH ${deletedPage(tables, page, 'name, key')},${withoutChanges(tables, keys)}${PAGE_ANSWER}`;
};

/** Condition on operation `o`: a text of it matches the expression, or its order does. */
const mentions = (pattern: string): string =>
  `(COALESCE(o.why, ''::text) ~ ${pattern} OR COALESCE(o.error, ''::text) ~ ${pattern}
    OR EXISTS (SELECT FROM pg_catalog.jsonb_path_query(o.asked, '$.** ? (@.type() == "string")'::jsonpath) AS t(v)
               WHERE t.v #>> '{}'::text[] ~ ${pattern}))`;

/** Who did what, when and to how many stays. Parameters: the id to start behind, limit, pattern. */
export const eraseTextsSql = ({ operation }: Tables): string => `
WITH page AS MATERIALIZED (
  SELECT o.id FROM ${operation} o WHERE o.id > $1::bigint ORDER BY o.id LIMIT $2::int
),
blank AS (
  UPDATE ${operation} o SET why = NULL, error = NULL, asked = '{"erased": true}'
  FROM page p
  WHERE o.id = p.id AND ${mentions('$3::text')}
  RETURNING 1 AS one
)
SELECT (SELECT pg_catalog.count(*) FROM blank)::text AS count, (SELECT pg_catalog.max(p.id) FROM page p)::text AS last`;

/** Parameter: pattern. */
export const countTextsSql = (tables: Tables): string => `
${ON_PRIMARY}
SELECT pg_catalog.count(*)::text AS count FROM ${tables.operation} o WHERE ${mentions('$1::text')}`;
