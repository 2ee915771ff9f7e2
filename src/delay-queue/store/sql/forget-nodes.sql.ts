import type { Tables } from '../schema.js';

/**
 * Deletes nodes that have not been seen for long: whoever was killed said no goodbye. Parameters:
 * stale_ms, limit. Answers how many. One that lives after all comes back with its next heartbeat.
 */
export const forgetNodesSql = ({ node }: Tables): string => `
WITH forgotten AS (
  DELETE FROM ${node}
  WHERE id = ANY (ARRAY(
    SELECT n.id
    FROM ${node} n
    WHERE n.seen_at < (SELECT clock_timestamp() - $1::float8 * interval '1 millisecond')
    ORDER BY n.seen_at, n.id
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED))
  RETURNING id
)
SELECT count(*)::text AS count FROM forgotten`;
