import { clock } from '../parts/clock.js';
import { expectFew } from '../parts/planner.js';
import { rowById } from '../parts/row-of.js';
import { wrongWith } from '../../tables/row-rules.js';
import type { Tables } from '../../tables/schema.js';

/** Rows of ids that JavaScript cannot name, in one statement. */
const UNNAMED_MAX = 1_000;

/**
 * Makes dead letters of rows that cannot be read, and leaves all others as they are. Parameter: ids[], beside which it looks at
 * those that are too large to be told apart. Answers the rows that it has set aside. Who holds one keeps it for as long as its
 * lease lasts, if that ends.
 *
 * An epoch that cannot be read has no next one: such a row begins again.
 */
export const setAsideSql = (tables: Tables): string => `
WITH ${clock(tables)},
wanted AS MATERIALIZED (
  SELECT w.id FROM pg_catalog.unnest($1::bigint[]) AS w(id)
  UNION
  (SELECT d.id FROM ${tables.delay} d WHERE d.id > ${Number.MAX_SAFE_INTEGER} ORDER BY d.id LIMIT ${UNNAMED_MAX})
),
odd AS MATERIALIZED (
  SELECT d.* FROM (SELECT id FROM wanted ORDER BY id) w, clock, LATERAL ${rowById(tables, 'w', {
    columns: `d.ctid, ${wrongWith('d')} AS why`,
    and: `(d.wake_at < 'infinity' OR d.leased_by IS NOT NULL) AND ${wrongWith('d')} IS NOT NULL
      AND (d.leased_until > clock.now AND pg_catalog.isfinite(d.leased_until)) IS NOT TRUE`,
    lock: 'at once',
  })} d
  WHERE ${expectFew('w')}
),
parked AS (
  UPDATE ${tables.delay} d
  SET wake_at = 'infinity', leased_until = NULL, leased_by = NULL, last_error = o.why,
      epoch = CASE WHEN d.epoch BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER - 1} THEN d.epoch + 1 ELSE 0 END
  FROM odd o
  WHERE d.ctid = o.ctid
  RETURNING d.id, d.name, d.key, d.attempts, d.last_error
)
SELECT p.id::text AS id, p.name, p.key, p.attempts::text AS attempts, p.last_error AS error FROM parked p`;
