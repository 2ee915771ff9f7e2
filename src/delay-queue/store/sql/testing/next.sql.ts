import { clock } from '../parts/clock.js';
import { isPaused, unpausedNames } from '../pauses/pauses.sql.js';
import { epochMs, wakeOf, type Tables } from '../../tables/schema.js';

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
