import { epochMs, plusMs, presentEpochUs, type Tables, wakeSql } from '../../database/tables.js';
import { REFUSED } from '../rows/delay-rows.js';
import {
  clock,
  isByGroup,
  isOrphaned,
  isPresent,
  lives,
  nodesNow,
  notLeftOut,
  ownShare,
  servedName,
} from './fragments/clock.js';
import { pausesJson } from './nodes.sql.js';

/**
 * A row as a small JSON array: one text to parse instead of five columns for each of thousands. Its
 * wake is in microseconds, a whole number, which every setting formats alike. The last element but
 * one says how the latest attempt ended: 0 not failed, 1 failed, 2 without reporting a result, 3
 * its process died before the lease ended; plus {@link REFUSED}.
 *
 * @param orphaned SQL that is true for an attempt without a process; its wake is then `looksAt`
 */
const wakeJson = (row: string, { orphaned, looksAt } = NO_ORPHANS): string =>
  `pg_catalog.json_build_array(${row}.id, ${row}.epoch, ${row}.name,
                    ${presentEpochUs(`CASE WHEN ${orphaned} THEN ${looksAt} ELSE ${wakeSql(row)} END`)},
                    CASE WHEN ${orphaned} THEN 3
                         WHEN ${row}.leased_by IS NOT NULL THEN 2
                         WHEN ${row}.failed THEN 1 ELSE 0 END
                    + CASE WHEN ${row}.refused THEN ${REFUSED} ELSE 0 END, ${row}.group_id)`;

/** Postgres removes the constant branch. */
const NO_ORPHANS = { orphaned: 'false', looksAt: 'NULL' };

/**
 * The read-ahead, with the node's heartbeat in the same statement. Parameters: node, names[],
 * counts[], ranks[], mark_ms and mark_id (where reading begins), horizon_ms, limit,
 * peers_within_ms, whether this node holds its presence lock, the index of the names, the process's
 * instance; with `withGroups` also byGroup[] and the skipped groups. One row: nodes (the others
 * that live; idle ones have no share), the instance of the last heartbeat under this name, whether
 * this server knows the presence lock, pauses, wakes, cursor, now_ms, and later_ms, the clock read
 * again at the end.
 */
export const loadSql = (tables: Tables, withGroups = false): string => {
  const groups = withGroups ? { byGroup: '$13::bool[]', leftOut: '$14::text[]' } : undefined;
  const { delay, node, now } = tables;
  const beat = nodesNow(tables);
  return `
WITH ${clock(tables)},
beat AS (
  INSERT INTO ${node} (id, names, present, started_at, seen_at, instance)
  SELECT $1::text, $2::text[], $10::bool, ${beat}, ${beat}, $12::text FROM clock
  ON CONFLICT (id) DO UPDATE
  SET names = excluded.names, present = excluded.present, seen_at = excluded.seen_at, idle_until = NULL,
      started_at = CASE WHEN ${node}.instance = excluded.instance THEN ${node}.started_at
                        ELSE excluded.started_at END,
      instance = excluded.instance
),
page AS MATERIALIZED (
  SELECT d.id, d.epoch, d.name, d.wake_at, d.leased_until, d.leased_by, d.group_id,
         d.last_error IS NOT NULL AS failed, d.refused_by IS NOT NULL AS refused
  FROM ${delay} d, ${servedName('d', '$2::text[]', '$11::jsonb')}
  WHERE (d.wake_at, d.id) > (pg_catalog.to_timestamp($5::float8 / 1e3::float8), $6::bigint)
    AND d.wake_at <= (SELECT ${plusMs(now, '$7::float8')})
    AND ${ownShare('d', '$3::int[]', '$4::int[]', groups)}${
      groups ? `\n    AND ${notLeftOut('d', groups)}` : ''
    }
  ORDER BY d.wake_at, d.id
  LIMIT $8::int
)
SELECT (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(n.id, n.names) ORDER BY n.id), '[]')::text
        FROM ${node} n, clock
        WHERE n.id <> $1::text AND n.idle_until IS NULL AND ${lives('n', beat, '$9::float8')})
         AS nodes,
       (SELECT n.instance FROM ${node} n WHERE n.id = $1::text) AS last_instance,
       (SELECT COALESCE(pg_catalog.json_agg(${wakeJson('p')}), '[]')::text FROM page p) AS wakes,
       (SELECT ${epochMs('pg_catalog.max(wake_at)')}::text FROM page) AS cursor_ms,
       (SELECT p.id::text FROM page p ORDER BY p.wake_at DESC, p.id DESC LIMIT 1) AS cursor_id,
       (SELECT ${epochMs('clock.now')}::text FROM clock) AS now_ms,
       CASE WHEN $10::bool THEN ${isPresent('$1::text')} END::text AS is_held,
       ${pausesJson(tables)} AS pauses,
       ${epochMs(now)}::text AS later_ms`;
};

/** Only the owner knows a group's limit, which may throttle a delay that is overdue for less. */
const HELP_GROUPS_AFTER_MS = 300_000;

/** Wait before the claim of an orphan: a process whose connection was cut has a new one by then. */
const ORPHANED_FOR_MS = 1_000;

const ORPHANED = {
  orphaned: 'p.orphaned',
  looksAt: plusMs('clock.now', `${ORPHANED_FOR_MS}::float8`),
};

/** SQL: since when a row could have run. */
const fetchedWakeSql = (row: string): string =>
  `CASE WHEN ${row}.orphaned THEN ${row}.wake_at ELSE ${wakeSql(row)} END`;

/**
 * One page of everything overdue, without the low-water mark: late commits, expired leases, rows of
 * dead nodes, also leased ones. Parameters: names[], counts[], ranks[], cursor_ms (null: from the
 * start) and cursor_id, scan (rows read, at most), limit (rows answered, at most), help_after_ms
 * (rows overdue for longer are any node's; null: own share only), ahead_ms (leases that end within
 * this time are answered too), the index of the names, the lock of this process; with `withGroups`
 * also byGroup[] and the skipped groups. One row: wakes, the cursor of the next page (null: all has
 * been read), the oldest wake from this page on unless it is full, and now_ms. A row that a node
 * could not read is any node's at once: its owner may be that node.
 *
 * The cursor carries the scan past a million rows of a name that no node serves: each row is read
 * once per scan. They are not materialized: a second pass, through the index alone, finds where a
 * page that is not full ends. There is no third: while a snapshot is held, each pass walks over all
 * rows that died since.
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
         OR ($3::int[])[served.at] >= 0 AND ${fetchedWakeSql('r')} < clock.now - ${helpAfterMs} * interval '1 millisecond')
    AND ${fetchedWakeSql('r')} <= ${plusMs('clock.now', '$9::float8')}
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
