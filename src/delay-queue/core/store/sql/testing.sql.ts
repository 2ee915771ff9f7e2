import {
  allTables,
  epochMs,
  plusMs,
  presentEpochUs,
  type Tables,
  wakeSql,
} from '../../database/tables.js';
import { clock } from './fragments/clock.js';
import { isPaused, unpausedNames } from './nodes.sql.js';

const aheadTo = (instant: string): string =>
  `GREATEST(0, pg_catalog.ceil(${epochMs(`${instant} - pg_catalog.clock_timestamp()`)}))::bigint`;

/** Starts a clock that was stopped for a call whose process was killed. */
export const goOnSql = ({ testingClock }: Tables): string => `
UPDATE ${testingClock} SET stands_at = NULL, ahead_ms = ${aheadTo('stands_at')}
WHERE stands_at IS NOT NULL AND NOT is_set`;

/** Where the clock stands or null, whether a test set it, how far it is ahead; the database's. */
export const testClockSql = ({ testingClock }: Tables): string => `
SELECT COALESCE(c.is_set, false)::text AS is_set, COALESCE(c.ahead_ms, 0)::text AS ahead_ms,
       ${epochMs('c.stands_at')}::text AS stands_ms, ${epochMs('pg_catalog.clock_timestamp()')}::text AS database_ms
FROM (SELECT) one LEFT JOIN ${testingClock} c ON true`;

/** Stops the clock. Parameters: at how many milliseconds since 1970, whether a test set it. */
export const standSql = ({ testingClock }: Tables): string => `
INSERT INTO ${testingClock} (is_set, ahead_ms, stands_at)
VALUES ($2::bool, 0, ${plusMs('pg_catalog.to_timestamp(0)', '$1::float8')})
ON CONFLICT (is_there) DO UPDATE SET is_set = excluded.is_set, stands_at = excluded.stands_at`;

/** Starts the clock there, but never behind the database's. Parameter: milliseconds since 1970. */
export const flowSql = ({ testingClock }: Tables): string => `
INSERT INTO ${testingClock} (is_set, ahead_ms)
VALUES (false, ${aheadTo(plusMs('pg_catalog.to_timestamp(0)', '$1::float8'))})
ON CONFLICT (is_there) DO UPDATE SET is_set = false, stands_at = NULL, ahead_ms = excluded.ahead_ms`;

/** Empties the tables, except for `node`, and makes the clock the database's again. */
export const wipeSql = (tables: Tables): string => `
WITH ${allTables(tables)
  .filter((table) => table !== tables.node)
  .map((table, index) => `gone_${index} AS (DELETE FROM ${table})`)
  .join(', ')}
DELETE FROM ${tables.testingClock}`;

const COLUMNS = `d.id::text AS id, d.epoch::text AS epoch, d.name, d.key, d.group_id, d.payload::text AS payload,
       ${presentEpochUs(wakeSql('d'))}::text AS wake_us, (d.leased_by IS NOT NULL)::text AS stalled,
       (d.last_error IS NOT NULL)::text AS failed`;

/**
 * Due delays, oldest first, for tests; paused ones are not due. Parameters: names[], ids[] to leave
 * out, whether only those of the first instant, limit. Due times decide between delays that were
 * overdue when scheduled, which wake together.
 */
export const dueSql = (tables: Tables): string => `
WITH ${clock(tables)},
due AS MATERIALIZED (
  SELECT d.*, ${wakeSql('d')} AS wake
  FROM ${tables.delay} d, clock
  WHERE d.name = ANY (${unpausedNames(tables, '$1::text[]')}) AND d.id <> ALL ($2::bigint[]) AND d.wake_at <= (SELECT now FROM clock)
    AND ${wakeSql('d')} <= clock.now AND NOT ${isPaused(tables)}
)
SELECT ${COLUMNS}
FROM due d
WHERE NOT $3::bool OR (d.wake, d.due_at) = (SELECT f.wake, f.due_at FROM due f ORDER BY f.wake, f.due_at LIMIT 1)
ORDER BY d.wake, d.due_at, d.id
LIMIT $4::int`;

/** The same for one delay, due or not, unless it is paused. Parameter: id. */
export const dueOneSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${COLUMNS}
FROM ${tables.delay} d, clock
WHERE d.id = $1::bigint AND d.wake_at < 'infinity' AND NOT ${isPaused(tables)}`;

/**
 * When the next delay of these names is due, or a pause ends, for tests. Parameters: names[], ids[]
 * to leave out because a limit throttles them. Answers milliseconds since 1970, rounded up; null:
 * none. Only a leased row may wake later than its `wake_at`, and that was due when it was claimed:
 * the first row in the index is enough.
 */
export const nextSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT pg_catalog.ceil(${epochMs('LEAST(waits.at, held.at, paused.at)')})::text AS next_ms
FROM (SELECT) one
LEFT JOIN LATERAL (
  SELECT ${wakeSql('d')} AS at FROM ${tables.delay} d, clock
  WHERE d.name = ANY (${unpausedNames(tables, '$1::text[]')}) AND d.wake_at < 'infinity' AND d.id <> ALL ($2::bigint[])
    AND (d.leased_until IS NULL OR d.leased_until <= clock.now) AND NOT ${isPaused(tables)}
  ORDER BY d.wake_at, d.id LIMIT 1
) waits ON true
LEFT JOIN LATERAL (
  SELECT pg_catalog.min(d.leased_until) AS at FROM ${tables.delay} d, clock
  WHERE d.name = ANY ($1::text[]) AND d.wake_at <= (SELECT now FROM clock) AND d.leased_until > clock.now
) held ON true
LEFT JOIN LATERAL (
  SELECT pg_catalog.min(p.until) AS at FROM ${tables.pause} p, clock
  WHERE p.name = ANY ($1::text[]) AND p.until > clock.now AND p.until < 'infinity'
) paused ON true`;
