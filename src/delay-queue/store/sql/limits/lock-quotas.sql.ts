import { clock } from '../parts/clock.js';
import { STAYS_APART } from '../parts/planner.js';
import type { Tables } from '../../tables/schema.js';

/** The next statement of that transaction follows at once. */
const IDLE_MS_MAX = 5_000;

/**
 * Takes the locks of all limits that a claim may meet, in an order that is the same for all, to the end of the
 * transaction. The next statement sees what the others have claimed under them.
 *
 * Parameters: ids[] and names[] of the delays, names[] of the handlers, whether each limits the whole name, whether
 * each limits its groups. A limit that is new begins full.
 *
 * A process that is stopped before its COMMIT must not stop all others with it: the server ends a session that does nothing
 * for so long, and with it the locks.
 */
export const lockQuotasSql = ({ delay, quota, now }: Tables): string => `
WITH ${clock({ now })},
idle AS MATERIALIZED (
  SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', '${IDLE_MS_MAX}', true) AS max
),
rule AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::bool[], $4::bool[]) AS r(name, limits_all, limits_groups)
),
met AS (
  SELECT name, '' AS group_id FROM rule WHERE limits_all
  UNION
  SELECT d.name, d.group_id
  FROM pg_catalog.unnest($1::bigint[]) AS w(id), LATERAL (
    SELECT d.name, d.group_id FROM ${delay} d WHERE d.id = w.id ${STAYS_APART}
  ) d JOIN rule r ON r.name = d.name AND r.limits_groups
  WHERE d.group_id IS NOT NULL
)
INSERT INTO ${quota} AS q (name, group_id, tokens, filled_at)
SELECT met.name, met.group_id, 'infinity'::float8, clock.now FROM met, clock, idle ORDER BY met.name, met.group_id
ON CONFLICT (name, group_id) DO UPDATE SET filled_at = q.filled_at
RETURNING q.name`;
