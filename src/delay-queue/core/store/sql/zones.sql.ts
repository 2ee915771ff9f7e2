import { epochMs, nextEpoch, type Tables, wholeEpochMs } from '../../database/tables.js';
import { clock } from './fragments/clock.js';
import { movedTo } from './history.sql.js';

/** The offsets of a time zone, in minutes, by the database's rules. Parameters: the zone, instants. */
export const offsetsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT (EXTRACT(epoch FROM pg_catalog.timezone($1::text, i.at) - pg_catalog.timezone('UTC'::text, i.at))::float8 / 60::float8)::int::text AS minutes
FROM clock, pg_catalog.unnest($2::timestamptz[]) WITH ORDINALITY AS i(at, ord)
WHERE clock.now IS NOT NULL
ORDER BY i.ord`;

/** Zones that are read, and instants that are moved by one statement. */
const ZONES_MAX = 1_000;
const INSTANTS_MAX = 10_000;
export const MOVED_MAX = 1_000;

/** The time zones of recurring delays. Parameter: names, or no array for all. */
export const zonesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT DISTINCT d.repeat ->> 'timeZone'::text AS zone
FROM clock, ${tables.delay} d
WHERE d.repeat IS NOT NULL AND d.repeat ->> 'timeZone'::text IS NOT NULL AND ($1::text[] IS NULL OR d.name = ANY ($1::text[]))
LIMIT ${ZONES_MAX}`;

/** Condition: `d` waits for the due time that was computed by the rules of its zone. */
const waits = `d.repeat IS NOT NULL AND d.leased_by IS NULL AND d.attempts = 0 AND d.wake_at = d.due_at AND d.due_at > clock.now
    AND d.repeat ->> 'tz'::text IS NOT NULL AND d.repeat ->> 'from'::text = ${wholeEpochMs('d.due_at')}::text`;

/**
 * Due times of recurring delays with these names that another release of the zone data has
 * computed. Parameters: the release of this node, names.
 */
export const computedElsewhereSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT DISTINCT d.repeat ->> 'timeZone'::text AS zone, d.repeat ->> 'offset'::text AS minutes, d.repeat ->> 'tz'::text AS tz,
       ${epochMs('d.due_at')}::text AS due_ms
FROM clock, ${tables.delay} d
WHERE ${waits} AND d.repeat ->> 'tz'::text <> $1::text AND d.name = ANY ($2::text[])
LIMIT ${INSTANTS_MAX}`;

/**
 * Moves delays of these due times, as many as one statement takes; those that are locked stay. In no
 * order: it waits for no lock, and sorting would read all that is left for each thousand.
 * Parameters: names; then one array each: zones, offsets, releases, due times, new due times (the
 * past is left alone), what the repeat stores. Answers how many.
 */
export const moveZonesSql = (tables: Tables): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[])
    AS i(zone, minutes, tz, due_at, to_at, more)
),
chosen AS MATERIALIZED (
  SELECT d.ctid, i.to_at, i.more::jsonb AS more
  FROM input i JOIN ${tables.delay} d ON d.wake_at = i.due_at AND d.repeat ->> 'timeZone'::text = i.zone
    AND d.repeat ->> 'offset'::text = i.minutes AND d.repeat ->> 'tz'::text = i.tz, clock
  WHERE ${waits} AND i.to_at > clock.now AND d.name = ANY ($1::text[])
  LIMIT ${MOVED_MAX}
  FOR UPDATE OF d SKIP LOCKED
),
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = c.to_at, wake_at = c.to_at, epoch = ${nextEpoch('d')}, repeat = d.repeat || c.more,
      move_log = ${movedTo('c.to_at', 'timeZone')}
  FROM chosen c
  WHERE d.ctid = c.ctid
  RETURNING d.id
)
SELECT pg_catalog.count(*)::text AS count FROM moved`;
