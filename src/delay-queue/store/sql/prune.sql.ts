import type { Tables } from '../schema.js';

/** Deletes the oldest lines of history. Parameters: keep_ms, limit. Answers how many. */
export const pruneSql = ({ history }: Tables): string => `
WITH old AS MATERIALIZED (
  SELECT ended_at, id, epoch
  FROM ${history}
  WHERE ended_at < (SELECT clock_timestamp() - $1::float8 * interval '1 millisecond')
  ORDER BY ended_at, id, epoch
  LIMIT $2::int
  FOR UPDATE SKIP LOCKED
),
pruned AS (
  DELETE FROM ${history} h USING old
  WHERE h.ended_at = old.ended_at AND h.id = old.id AND h.epoch = old.epoch
  RETURNING h.id
)
SELECT count(*)::int AS count FROM pruned`;
