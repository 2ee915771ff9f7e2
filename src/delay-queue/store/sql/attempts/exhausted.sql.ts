import { clock } from '../parts/clock.js';
import { expectFew } from '../parts/planner.js';
import { wakeOf, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/**
 * Rows that are due but have no attempt left become dead letters: each of their attempts ended
 * without a word, killed with its process. Parameters: ids[], epochs[], max_attempts[], error.
 */
export const exhaustedSql = (tables: Tables): string => `
WITH ${clock(tables)},
wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(id, epoch, max_attempts)
),
locked AS MATERIALIZED (
  SELECT d.ctid
  FROM wanted w, clock, LATERAL ${fencedRow(tables, 'w', {
    columns: 'd.ctid',
    and: `${wakeOf('d')} <= clock.now AND d.attempts >= COALESCE(d.max_attempts, w.max_attempts)`,
  })} d
  WHERE ${expectFew('w')}
),
exhausted AS (
  UPDATE ${tables.delay} d
  SET wake_at = 'infinity', epoch = d.epoch + 1, leased_until = NULL, leased_by = NULL,
      last_error = COALESCE(d.last_error, $4::text)
  FROM locked l
  WHERE d.ctid = l.ctid
  RETURNING d.id, d.name, d.key, d.attempts, d.last_error
)
SELECT b.id::text AS id, b.name, b.key, b.attempts::text AS attempts, b.last_error AS error FROM exhausted b`;
