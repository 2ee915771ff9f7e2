import { epochMs, plusMs, presentEpochUs, type Tables, wakeOf } from '../../database/tables.js';
import { clock } from './fragments/clock.js';
import { isPaused, unpausedNames } from './pauses.sql.js';

const aheadTo = (instant: string): string =>
  `GREATEST(0, pg_catalog.ceil(${epochMs(`${instant} - pg_catalog.clock_timestamp()`)}))::bigint`;

/** What stood for a call that a killed process never ended goes on. */
export const goOnSql = ({ testingClock }: Tables): string => `
UPDATE ${testingClock} SET stands_at = NULL, ahead_ms = ${aheadTo('stands_at')}
WHERE stands_at IS NOT NULL AND NOT is_set`;

/** Where it is. Answers where it stands or null, whether a test has said so, how far ahead it goes, and the database's clock. */
export const testClockSql = ({ testingClock }: Tables): string => `
SELECT COALESCE(c.is_set, false)::text AS is_set, COALESCE(c.ahead_ms, 0)::text AS ahead_ms,
       ${epochMs('c.stands_at')}::text AS stands_ms, ${epochMs('pg_catalog.clock_timestamp()')}::text AS database_ms
FROM (SELECT) one LEFT JOIN ${testingClock} c ON true`;

/** Has it stand. Parameters: at how many milliseconds since 1970, whether a test says so. */
export const standSql = ({ testingClock }: Tables): string => `
INSERT INTO ${testingClock} (is_set, ahead_ms, stands_at)
VALUES ($2::bool, 0, ${plusMs('pg_catalog.to_timestamp(0)', '$1::float8')})
ON CONFLICT (is_there) DO UPDATE SET is_set = excluded.is_set, stands_at = excluded.stands_at`;

/** Has it go on from there, but never behind the database's. Parameter: milliseconds since 1970. */
export const flowSql = ({ testingClock }: Tables): string => `
INSERT INTO ${testingClock} (is_set, ahead_ms)
VALUES (false, ${aheadTo(plusMs('pg_catalog.to_timestamp(0)', '$1::float8'))})
ON CONFLICT (is_there) DO UPDATE SET is_set = false, stands_at = NULL, ahead_ms = excluded.ahead_ms`;

/** Removes all there is, and has the clock be the database's again. */
export const wipeSql = ({
  delay,
  history,
  pause,
  quota,
  permit,
  rerun,
  abort,
  testingClock,
}: Tables): string => `
WITH ${[delay, history, pause, quota, permit, rerun, abort]
  .map((table, index) => `gone_${index} AS (DELETE FROM ${table})`)
  .join(', ')}
DELETE FROM ${testingClock}`;

const COLUMNS = `d.id::text AS id, d.epoch::text AS epoch, d.name, d.key, d.group_id, d.payload::text AS payload,
       ${presentEpochUs(wakeOf('d'))}::text AS wake_us, (d.leased_by IS NOT NULL)::text AS stalled,
       (d.last_error IS NOT NULL)::text AS failed`;

/**
 * What is due, the oldest first, for tests. Parameters: names[], ids[] that are left out, whether only what was due first
 * (at one instant), limit. What was overdue when it was scheduled wakes at once, perhaps together with others: their due
 * times tell which is first. What is paused is not due.
 */
export const dueSql = (tables: Tables): string => `
WITH ${clock(tables)},
due AS MATERIALIZED (
  SELECT d.*, ${wakeOf('d')} AS wake
  FROM ${tables.delay} d, clock
  WHERE d.name = ANY (${unpausedNames(tables, '$1::text[]')}) AND d.id <> ALL ($2::bigint[]) AND d.wake_at <= (SELECT now FROM clock)
    AND ${wakeOf('d')} <= clock.now AND NOT ${isPaused(tables)}
)
SELECT ${COLUMNS}
FROM due d
WHERE NOT $3::bool OR (d.wake, d.due_at) = (SELECT f.wake, f.due_at FROM due f ORDER BY f.wake, f.due_at LIMIT 1)
ORDER BY d.wake, d.due_at, d.id
LIMIT $4::int`;

/** The same of one, due or not, unless it is paused. Parameter: id. */
export const dueOneSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${COLUMNS}
FROM ${tables.delay} d, clock
WHERE d.id = $1::bigint AND d.wake_at < 'infinity' AND NOT ${isPaused(tables)}`;

/**
 * When the next of those names is due, or a pause ends, for tests. Parameters: names[], ids[] that are left out, for a limit
 * holds them back. Answers milliseconds since 1970, rounded up; null: there is nothing.
 *
 * The first one in the index of wakes is enough. Only what is leased may wake later than it says there, and was due
 * when it was claimed.
 */
export const nextSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT pg_catalog.ceil(${epochMs('LEAST(waits.at, held.at, paused.at)')})::text AS next_ms
FROM (SELECT) one
LEFT JOIN LATERAL (
  SELECT ${wakeOf('d')} AS at FROM ${tables.delay} d, clock
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
