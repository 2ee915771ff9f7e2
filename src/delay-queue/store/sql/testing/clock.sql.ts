import { epochMs, plusMs, type Tables } from '../../tables/schema.js';

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
