import { CLOCK, epochMs, type Tables } from '../schema.js';
import { endedColumns, freeRows, looked, type Patience } from './look.sql.js';

/**
 * Removes the delays of (name, key); parameters: names[], keys[], and id and
 * epoch of the attempt that asks, if it is one: an attempt does not cancel itself. One row per
 * input: `cancelled`, `running`, `absent`, or `again` when the row changed under the look.
 */
export const cancelSql = (tables: Tables, withHistory: boolean, patience: Patience): string => `
WITH ${CLOCK},
input AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS i(name, key, ord)
),
${looked(tables)},
${freeRows(tables, patience, '(d.id, d.epoch) IS DISTINCT FROM ($3::bigint, $4::int)')},
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE d.id = f.id RETURNING f.ord
)${
  withHistory
    ? `,
ended AS (
  INSERT INTO ${tables.history} (${endedColumns})
  SELECT f.id, clock.now, f.due_at, f.created_at, NULL, f.epoch, f.attempts,
         CASE WHEN f.dead THEN 'discarded' ELSE 'cancelled' END, f.name, f.key, f.leased_by,
         f.last_error
  FROM free f JOIN gone USING (ord), clock
)`
    : ''
}
SELECT i.ord::float8 AS ord,
       CASE WHEN g.ord IS NOT NULL THEN 'cancelled'
            WHEN s.leased THEN 'running'
            WHEN s.ord IS NULL THEN 'absent'
            ELSE 'again' END AS verdict,
       COALESCE(f.id, s.id)::float8 AS id,
       ${epochMs('COALESCE(f.due_at, s.due_at)')} AS due_ms
FROM input i
LEFT JOIN seen s USING (ord) LEFT JOIN free f USING (ord) LEFT JOIN gone g USING (ord)
ORDER BY i.ord`;
