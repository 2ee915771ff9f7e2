import { CLOCK, epochMs, plusMs, wakeOf, type Tables } from '../schema.js';
import { ownShare, wakeJson } from './load.sql.js';

/**
 * One page of everything overdue, without the low-water mark: late commits, expired leases, rows
 * of dead nodes. Parameters: names[], counts[], ranks[], cursor_ms (null: from the start) and
 * cursor_id, scan (rows looked at, at most), limit (rows answered, at most), help_after_ms (rows
 * overdue for longer are anybody's; null: own share only), ahead_ms (a lease that ends within this
 * time is worth an entry in the wheel).
 *
 * The cursor is what carries it past a million rows of a name nobody serves: those of one page are
 * looked at once per sweep, and no page looks at more than `scan`. One that is full reads no further:
 * a CTE is read as far as somebody asks, so nobody may ask for the end of `raw` then.
 */
export const sweepSql = ({ delay }: Tables): string => `
WITH ${CLOCK},
raw AS MATERIALIZED (
  SELECT d.id, d.epoch, d.name, d.wake_at, d.leased_until, d.leased_by,
         d.last_error IS NOT NULL AS failed
  FROM ${delay} d
  WHERE (d.wake_at, d.id) > (COALESCE(to_timestamp($4::float8 / 1000), '-infinity'), $5::bigint)
    AND d.wake_at <= (SELECT clock_timestamp())
  ORDER BY d.wake_at, d.id
  LIMIT $6::int
),
page AS MATERIALIZED (
  SELECT r.*
  FROM raw r, clock
  WHERE r.name = ANY ($1::text[])
    AND (${ownShare('r', '$1::text[]', '$2::int[]', '$3::int[]')}
         OR ${wakeOf('r')} < clock.now - $8::float8 * interval '1 millisecond')
    AND ${wakeOf('r')} <= ${plusMs('clock.now', '$9::float8')}
  ORDER BY r.wake_at, r.id
  LIMIT $7::int
),
seen AS (SELECT count(*) = $7::int AS is_full FROM page)
SELECT (SELECT COALESCE(json_agg(${wakeJson('p')}), '[]')::text FROM page p) AS wakes,
       CASE WHEN seen.is_full
            THEN (SELECT ${epochMs('wake_at')} FROM page ORDER BY wake_at DESC, id DESC LIMIT 1)
            ELSE (SELECT ${epochMs('wake_at')} FROM raw ORDER BY wake_at DESC, id DESC LIMIT 1)
       END AS cursor_ms,
       CASE WHEN seen.is_full
            THEN (SELECT id::float8 FROM page ORDER BY wake_at DESC, id DESC LIMIT 1)
            ELSE (SELECT id::float8 FROM raw ORDER BY wake_at DESC, id DESC LIMIT 1)
       END AS cursor_id,
       NOT seen.is_full AND (SELECT count(*) FROM raw) < $6::int AS done,
       (SELECT ${epochMs('clock.now')} FROM clock) AS now_ms
FROM seen`;
