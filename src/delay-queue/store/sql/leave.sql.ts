import type { Tables } from '../schema.js';

/** A node says goodbye, and takes with it those not seen for long. Parameters: node, stale_ms. */
export const leaveSql = ({ node }: Tables): string => `
WITH gone AS (
  DELETE FROM ${node}
  WHERE id = $1::text OR seen_at < clock_timestamp() - $2::float8 * interval '1 millisecond'
  RETURNING id
)
SELECT count(*)::text AS count FROM gone`;
