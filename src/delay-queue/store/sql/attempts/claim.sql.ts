import { clock } from '../parts/clock.js';
import { expectFew } from '../parts/planner.js';
import { plusMs, presentEpochUs, wakeOf, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/**
 * Takes rows to run. Parameters: ids[], epochs[], lease_ms[], max_attempts[] (the handlers'), node.
 * Answers the claimed rows alone; `look` says what became of the others.
 *
 * What is locked is written where it lies, without another way through the index. A row of which
 * somebody wrote a new version in between is not found there, and counts as one that was missed.
 *
 * Writes only columns without an index: a HOT update. The lock sits in a materialized CTE because a
 * sub-select with LIMIT and SKIP LOCKED may be run more than once by the planner.
 */
export const claimSql = (tables: Tables): string => `
WITH ${clock()},
wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::int[])
           AS w(id, epoch, lease_ms, max_attempts)
),
locked AS MATERIALIZED (
  SELECT d.ctid, w.lease_ms, COALESCE(d.max_attempts, w.max_attempts) AS max_attempts
  FROM wanted w, clock, LATERAL ${fencedRow(tables, 'w', {
    columns: 'd.ctid, d.max_attempts',
    and: `${wakeOf('d')} <= clock.now AND d.attempts < COALESCE(d.max_attempts, w.max_attempts)`,
  })} d
  WHERE ${expectFew('w')}
),
claimed AS (
  UPDATE ${tables.delay} d
  SET leased_until = ${plusMs('clock.now', 'l.lease_ms')}, leased_by = $5::text,
      epoch = d.epoch + 1, attempts = d.attempts + 1
  FROM locked l, clock
  WHERE d.ctid = l.ctid
  RETURNING d.id, d.epoch, d.name, d.key, d.payload, d.due_at, d.created_at, d.attempts,
            l.max_attempts
)
SELECT c.id::text AS id, c.epoch::text AS epoch, c.name, c.key, c.payload::text AS payload,
       ${presentEpochUs('c.due_at')}::text AS due_us,
       ${presentEpochUs('c.created_at')}::text AS created_us, c.attempts::text AS attempts,
       c.max_attempts::text AS max_attempts,
       (SELECT ${presentEpochUs('now')}::text FROM clock) AS now_us
FROM claimed c`;
