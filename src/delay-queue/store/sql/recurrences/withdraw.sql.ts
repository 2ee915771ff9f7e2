import type { HistoryKept } from '../../../delay/attempts.js';
import { clock } from '../parts/clock.js';
import { intoHistory } from '../parts/history-row.js';
import { isRowOf } from '../parts/planner.js';
import { isDeclared } from '../parts/repeat.js';
import { isOutdated, newerWords } from './declare.sql.js';
import type { Tables } from '../../tables/schema.js';

/**
 * Removes delays that were declared to recur and are declared no more. It waits for no lock. Parameters: names whose declarations
 * are known; then names and keys of those that are declared, an array each; then the node, whether it has not said its word yet, and its deployment ('': none): those of others are left alone. Answers which are removed,
 * and how many are left, because they run or are locked.
 */
export const withdrawSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},${newerWords(tables, { self: '$4::text', isFirst: '$5::bool' })},
declared AS MATERIALIZED (SELECT * FROM unnest($2::text[], $3::text[]) AS k(name, key)),
undeclared AS MATERIALIZED (
  SELECT d.id FROM ${tables.delay} d
  WHERE d.repeat IS NOT NULL AND d.name = ANY ($1::text[]) AND ${isDeclared('d.repeat')}
    AND COALESCE(d.repeat ->> 'deployment'::text, '') = $6::text AND NOT ${isOutdated('d.name')} AND ((d.name, d.key) IN (SELECT k.name, k.key FROM declared k)) IS NOT TRUE
),
free AS MATERIALIZED (
  SELECT d.id
  FROM (SELECT id FROM undeclared ORDER BY id) u,
       LATERAL (SELECT d.id FROM ${tables.delay} d
                WHERE d.id = u.id AND d.repeat IS NOT NULL AND ${isDeclared('d.repeat')} AND d.leased_by IS NULL FOR UPDATE SKIP LOCKED) d
),
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE ${isRowOf('f')} RETURNING d.*
)${intoHistory(tables, kept, {
  of: 'g',
  from: 'gone g',
  state: "CASE WHEN g.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END",
  node: 'NULL',
})}
SELECT ((SELECT pg_catalog.count(*) FROM undeclared) - (SELECT pg_catalog.count(*) FROM gone))::text AS count,
       (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(g.name, g.key, g.repeat) ORDER BY g.id), '[]') FROM gone g)::text AS gone`;
