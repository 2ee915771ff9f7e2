import { clock } from '../parts/clock.js';
import { epochMs, plusMs, wakeOf, type Tables } from '../../tables/schema.js';
import { isOrphaned } from '../nodes/presence.sql.js';
import { wakeJson } from './load.sql.js';
import { isByGroup, notLeftOut, ownShare, servedName } from '../parts/share.js';

/**
 * Overdue for less than this, a delay may wait for its group's limit, which its owner knows: no other node helps.
 */
const HELP_GROUPS_AFTER_MS = 300_000;

/**
 * An attempt without its process is looked at again after this time, by its claim: a process whose connection was cut has
 * another one by then.
 */
const ORPHANED_FOR_MS = 1_000;

const ORPHANED = {
  orphaned: 'p.orphaned',
  looksAt: plusMs('clock.now', `${ORPHANED_FOR_MS}::float8`),
};

/** SQL: since when a row could run. */
const dueOf = (row: string): string =>
  `CASE WHEN ${row}.orphaned THEN ${row}.wake_at ELSE ${wakeOf(row)} END`;

/**
 * One page of everything overdue, without the low-water mark: late commits, expired leases, rows
 * of dead nodes, those that they still have leased included. Parameters: names[], counts[], ranks[], cursor_ms (null: from the start) and
 * cursor_id, scan (rows looked at, at most), limit (rows answered, at most), help_after_ms (rows
 * overdue for longer are any node's; null: own share only), ahead_ms (a lease that ends within this
 * time is worth an entry in the wheel), the index of the names, and the lock of this process; `withGroups` also byGroup[] and the groups that are left out. Answers one row: wakes, the cursor where the next page begins
 * (null: all has been looked at), the oldest wake from this page on unless the page is full, and now_ms.
 *
 * What a node could not read is any node's at once: its owner may be that very node.
 *
 * The cursor is what carries it past a million rows of a name that no node serves: those of one page are
 * looked at once per sweep, and no page looks at more than `scan`. They are not kept: what one that is
 * not full has come to is found by one more walk, through the index alone. Not by more than one: while a
 * snapshot is held, each passes all that died since.
 */
export const sweepSql = ({ delay, now }: Tables, withGroups = false): string => {
  const groups = withGroups ? { byGroup: '$12::bool[]', leftOut: '$13::text[]' } : undefined;
  const helpAfterMs =
    groups === undefined
      ? '$8::float8'
      : `CASE WHEN $8::float8 IS NOT NULL AND ${isByGroup('r', groups)} THEN ${HELP_GROUPS_AFTER_MS}
                 ELSE $8::float8 END`;
  const overdue = `
  FROM ${delay} d
  WHERE (d.wake_at, d.id) > (COALESCE(pg_catalog.to_timestamp($4::float8 / 1e3::float8), '-infinity'), $5::bigint)
    AND d.wake_at <= (SELECT now FROM clock)
  ORDER BY d.wake_at, d.id`;
  return `
WITH ${clock({ now })},
page AS MATERIALIZED (
  SELECT r.*
  FROM (SELECT d.id, d.epoch, d.name, d.wake_at, d.leased_until, d.leased_by, d.group_id,
               d.last_error IS NOT NULL AS failed, d.refused_by IS NOT NULL AS refused,
               ${isOrphaned('d', '$11::bigint')} IS TRUE AS orphaned${overdue} LIMIT $6::int) r,
       ${servedName('r', '$1::text[]', '$10::jsonb')}, clock
  WHERE served.at IS NOT NULL${groups ? `\n    AND ${notLeftOut('r', groups)}` : ''}
    AND (${ownShare('r', '$2::int[]', '$3::int[]', groups)}
         OR ($3::int[])[served.at] >= 0 AND r.refused
         OR ($3::int[])[served.at] >= 0 AND ${dueOf('r')} < clock.now - ${helpAfterMs} * interval '1 millisecond')
    AND ${dueOf('r')} <= ${plusMs('clock.now', '$9::float8')}
  ORDER BY r.wake_at, r.id
  LIMIT $7::int
),
seen AS (SELECT pg_catalog.count(*) = $7::int AS is_full FROM page),
looked AS MATERIALIZED (SELECT d.wake_at, d.id${overdue} LIMIT $6::int),
reached AS (
  (SELECT wake_at, id FROM page WHERE (SELECT is_full FROM seen)
   ORDER BY wake_at DESC, id DESC LIMIT 1)
  UNION ALL
  (SELECT wake_at, id FROM looked
   WHERE NOT (SELECT is_full FROM seen) AND (SELECT pg_catalog.count(*) FROM looked) = $6::int
   ORDER BY wake_at DESC, id DESC LIMIT 1)
)
SELECT (SELECT COALESCE(pg_catalog.json_agg(${wakeJson('p', ORPHANED)}), '[]')::text FROM page p, clock) AS wakes,
       (SELECT ${epochMs('wake_at')}::text FROM reached) AS cursor_ms,
       (SELECT id::text FROM reached) AS cursor_id,
       CASE WHEN NOT (SELECT is_full FROM seen)
            THEN (SELECT ${epochMs('pg_catalog.min(wake_at)')} FROM looked) END::text AS oldest_ms,
       (SELECT ${epochMs('clock.now')}::text FROM clock) AS now_ms`;
};
