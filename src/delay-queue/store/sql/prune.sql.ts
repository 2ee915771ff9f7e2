import type { Tables } from '../schema.js';

/**
 * Deletes the oldest lines of history. Parameters: keep_ms, limit. Answers how many.
 *
 * By ctid, which is safe here because the lines are locked and never updated: a join back to the
 * table may be planned as a read of all of it.
 */
export const pruneSql = ({ history }: Tables): string => `
WITH pruned AS (
  DELETE FROM ${history}
  WHERE ctid = ANY (ARRAY(
    SELECT h.ctid
    FROM ${history} h
    WHERE h.ended_at < (SELECT clock_timestamp() - $1::float8 * interval '1 millisecond')
    ORDER BY h.ended_at, h.id, h.epoch
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED))
  RETURNING id
)
SELECT count(*)::text AS count FROM pruned`;
