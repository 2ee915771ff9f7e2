import { clock } from '../parts/clock.js';
import { stateAt } from '../parts/filter.js';
import { liveNames } from '../nodes/presence.sql.js';
import { fullLimits, waitsFor } from '../stats/waits-for.js';
import { epochMs, wakeOf, type Tables } from '../../tables/schema.js';

/** All of the delay `d`; there is a `clock`. */
const columnsOf = (
  rerun: string,
): string => `d.id::text AS id, d.name, d.key, d.group_id, d.headers::text AS headers, d.payload::text AS payload,
       ${stateAt('clock.now')} AS state,
       ${epochMs('d.due_at')}::text AS due_ms,
       CASE WHEN d.wake_at < 'infinity' THEN ${epochMs(wakeOf('d'))} END::text AS wake_ms,
       d.attempts::text AS attempts, d.max_attempts::text AS max_attempts, d.last_error, d.repeat::text AS repeat,
       d.attempt_log::text AS attempt_log, d.move_log::text AS move_log,
       ${epochMs('d.created_at')}::text AS created_ms,
       (SELECT ${epochMs('r.due_at')} FROM ${rerun} r WHERE r.name = d.name AND r.key = d.key)::text AS rerun_ms`;

/** The live delay of (name, key), dead letters included. Parameters: name, key. */
export const findSql = ({ delay, rerun, now }: Tables): string => `
WITH ${clock({ now })}
SELECT ${columnsOf(rerun)}
FROM ${delay} d, clock
WHERE d.name = $1::text AND d.key = $2::text`;

/**
 * Live delays, dead letters included, in the order of their ids, and what each waits for. Parameters: behind which id, how
 * many, for how many milliseconds a node counts as alive of which nothing can be told; then the filter's.
 */
export const listSql = (tables: Tables, filter: string): string => `
WITH ${clock(tables)},
${liveNames(tables, '$3')},
page AS MATERIALIZED (
  SELECT d.* FROM ${tables.delay} d
  WHERE d.id > $1::bigint AND ${filter}
  ORDER BY d.id
  LIMIT $2::int
),
${fullLimits(tables, 'page')}
SELECT ${columnsOf(tables.rerun)}, ${waitsFor(tables)} AS waits_for
FROM page d, clock
ORDER BY d.id`;

/** Their ids alone. */
export const idsSql = ({ delay, now }: Tables, filter: string): string => `
WITH ${clock({ now })}
SELECT d.id::text AS id
FROM ${delay} d
WHERE d.id > $1::bigint AND ${filter}
ORDER BY d.id
LIMIT $2::int`;

/** How many there are. Parameters: the filter's. */
export const countSql = ({ delay, now }: Tables, filter: string): string => `
WITH ${clock({ now })}
SELECT pg_catalog.count(*)::text AS count
FROM ${delay} d
WHERE ${filter}`;
