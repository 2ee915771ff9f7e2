import type { GroupOrder } from '../../api/selection.js';
import { ageMs, dateMs, epochMs, type Tables, wakeSql } from '../../database/tables.js';
import {
  asDate,
  asFlag,
  asNumber,
  asParsed,
  asText,
  type RowOf,
  selected,
} from '../rows/columns.js';
import { clock, IS_SERVED, liveNames, lives, nodesNow, saidAt } from './fragments/clock.js';
import { stateAt } from './fragments/state-and-error.js';
import { isPaused } from './nodes.sql.js';

/** How many of the attempts with `those` permits run. */
const runningWith = ({ delay, permit }: Tables, those: string): string => `(
      SELECT pg_catalog.count(*) FROM ${permit} p
      WHERE p.name = q.name AND ${those}
        AND (SELECT r.id FROM ${delay} r
             WHERE r.id = p.id AND r.epoch = p.epoch AND r.leased_until > clock.now LIMIT 1) IS NOT NULL)`;

/**
 * How many attempts run under limit `q`. One count for both would read the permits of the whole
 * name for each of its groups.
 */
export const runningUnder = (tables: Tables): string => `
    CASE WHEN q.group_id = '' THEN ${runningWith(tables, 'true')}
         ELSE ${runningWith(tables, 'p.group_id = q.group_id')} END`;

/**
 * Condition: no attempt may begin under limit `q` now: its rate has not refilled since the last
 * claim, or as many attempts still run as that claim counted slots.
 */
const isFull = (tables: Tables): string =>
  `(q.full_until > clock.now OR q.full_slots <= ${runningUnder(tables)})`;

/**
 * CTE `full_limit`: the limits that leave no slot to these rows. Each is looked up once, however
 * many delays it throttles.
 */
export const fullLimits = (tables: Tables, rows: string): string => `full_limit AS MATERIALIZED (
  SELECT q.name, q.group_id, q.full_since, q.full_until, q.full_slots
  FROM (SELECT name, '' AS group_id FROM ${rows} UNION SELECT name, group_id FROM ${rows} WHERE group_id <> '') k, clock,
       LATERAL (SELECT * FROM ${tables.quota} WHERE name = k.name AND group_id = k.group_id OFFSET 0) q
  WHERE ${isFull(tables)}
)`;

/**
 * Condition: a limit of its name or group leaves no slot to delay `d`. IN is a hash lookup, where
 * EXISTS would read all limits for each group; a NULL would be compared with the whole hash.
 */
export const IS_LIMITED = `(
    (d.name, '') IN (SELECT name, group_id FROM full_limit)
    OR (d.name, COALESCE(d.group_id, '')) IN (SELECT name, group_id FROM full_limit))`;

/**
 * What holds back the due delays of `d`, a name and a group: `pause`, `limit` (if a node serves the
 * name) or null. Needs the CTEs `clock`, `live` and `full_limit`.
 */
export const throttledBy = (tables: Tables): string =>
  `CASE WHEN ${isPaused(tables)} THEN 'pause' WHEN ${IS_SERVED} AND ${IS_LIMITED} THEN 'limit' END`;

/** Condition: anything may be held back at all. Usually nothing is, and no delay is compared. */
export const anyHeld = ({ pause, quota }: Tables): string =>
  `(EXISTS (SELECT FROM ${pause}) OR EXISTS (SELECT FROM ${quota} WHERE full_since IS NOT NULL))`;

/**
 * What delay `d` waits for, as JSON: see `DelayWait`. For a delay that is not due, only its
 * own row counts. Needs the CTEs `clock`, `live` and `full_limit`.
 */
export const waitsFor = (tables: Tables): string => {
  const sinceWake = `'sinceMs', ${dateMs(wakeSql('d'))}`;
  return `CASE
    WHEN d.wake_at = 'infinity' THEN NULL
    WHEN d.leased_until > clock.now AND d.leased_until < 'infinity' THEN pg_catalog.json_build_object(
      'what', 'attempt', 'node', d.leased_by, 'untilMs', ${dateMs('d.leased_until')})
    WHEN d.wake_at > clock.now THEN pg_catalog.json_build_object(
      'what', CASE WHEN d.attempts > 0 THEN 'retry' ELSE 'due' END, 'untilMs', ${dateMs('d.wake_at')})
    ELSE COALESCE(
      (SELECT pg_catalog.json_build_object('what', 'pause', 'group', NULLIF(p.group_id, ''), 'reason', p.reason,
                'sinceMs', ${dateMs('p.paused_at')},
                'untilMs', CASE WHEN p.until < 'infinity' THEN ${dateMs('p.until')} END)
       FROM ${tables.pause} p
       WHERE p.name = d.name AND p.group_id IN ('', d.group_id) AND p.until > clock.now
       ORDER BY p.until DESC, p.group_id LIMIT 1),
      CASE WHEN NOT ${IS_SERVED} THEN pg_catalog.json_build_object('what', 'node', ${sinceWake}) END,
      (SELECT pg_catalog.json_build_object('what', 'limit', 'group', NULLIF(f.group_id, ''),
                'sinceMs', ${dateMs('f.full_since')},
                'untilMs', CASE WHEN f.full_until > clock.now THEN ${dateMs('f.full_until')} END)
       FROM full_limit f
       WHERE f.name = d.name AND f.group_id IN ('', d.group_id)
       ORDER BY f.group_id LIMIT 1),
      pg_catalog.json_build_object('what', 'turn', ${sinceWake}))
    END`;
};

/** What is counted of a delay `d`, as columns; needs the CTE `clock`. */
const COUNTED = `${stateAt('clock.now')} AS state,
         CASE WHEN ${wakeSql('d')} <= clock.now THEN ${wakeSql('d')} END AS overdue_since`;

/** Rows of a group by state, and the overdue ones: their wake is past and no attempt has begun. */
const COUNTS = `pg_catalog.count(*) AS total,
         pg_catalog.count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
         pg_catalog.count(*) FILTER (WHERE state = 'running') AS running,
         pg_catalog.count(*) FILTER (WHERE state = 'retrying') AS retrying,
         pg_catalog.count(*) FILTER (WHERE state = 'dead') AS dead,
         pg_catalog.count(overdue_since) AS overdue,
         ${ageMs('(SELECT now FROM clock)', 'pg_catalog.min(overdue_since)')} AS oldest_overdue_ms`;

/** The counts of row `c`. */
const OF_EACH = {
  name: asText('c.name'),
  scheduled: asNumber('c.scheduled'),
  running: asNumber('c.running'),
  retrying: asNumber('c.retrying'),
  dead: asNumber('c.dead'),
  overdue: asNumber('c.overdue'),
  oldestOverdueMs: asNumber<number | null>('c.oldest_overdue_ms'),
};

export const OF_GROUP = {
  ...OF_EACH,
  group: asText('c.group_id'),
  paused: asFlag('h.paused'),
  limited: asFlag('h.limited'),
};

export const OF_NAME = {
  ...OF_EACH,
  overduePaused: asNumber('c.paused'),
  overdueLimited: asNumber('c.limited'),
  late: asNumber('c.late'),
  oldestLateMs: asNumber<number | null>('c.oldest_late_ms'),
};

export type NameStatsRow = RowOf<typeof OF_NAME>;

/** A live node. */
export const nodeColumns = (tables: Pick<Tables, 'isTested'>) => ({
  name: asText('n.id'),
  names: asParsed<string[]>('pg_catalog.to_json(n.names)'),
  startedAt: asDate(epochMs(saidAt('n.started_at', tables))),
  seenAt: asDate(epochMs(saidAt('n.seen_at', tables))),
  running: asNumber('COALESCE(r.running, 0)'),
});

/**
 * How many delays each group of a name has in each state, the most of `by` first. Parameters:
 * limit; then those of `where`, a condition on `d`. Leaves out delays without a group, which are
 * not in index `delay_group`.
 */
export const groupStatsSql = (tables: Tables, where: string, by: GroupOrder): string => {
  const column = by === 'oldestOverdueMs' ? 'oldest_overdue_ms' : by;
  const order = `c.${column} DESC NULLS LAST, c.name, c.group_id`;
  return `
WITH ${clock(tables)},
delays AS (
  SELECT d.name, d.group_id, ${COUNTED}
  FROM ${tables.delay} d, clock
  WHERE d.group_id IS NOT NULL AND ${where}
),
counted AS (
  SELECT c.* FROM (SELECT name, group_id, ${COUNTS} FROM delays GROUP BY name, group_id) c
  ORDER BY ${order}
  LIMIT $1::int
),
${fullLimits(tables, 'counted')}
SELECT ${selected(OF_GROUP)}
FROM counted c, LATERAL (
  SELECT ${isPaused(tables)} AS paused, ${IS_LIMITED} AS limited
  FROM clock, (VALUES (c.name, c.group_id)) AS d(name, group_id)
) h
ORDER BY ${order}`;
};

/**
 * How many delays each name has in each state, how many are overdue, and what holds these back.
 * Reads the whole table, and checks pauses and limits once for each group with overdue delays.
 * Parameter: alive_ms.
 */
export const nameStatsSql = (tables: Tables): string => `
WITH ${clock(tables)},
${liveNames(tables, '$1')},
delays AS (
  SELECT d.name, ${COUNTED},
         CASE WHEN ${wakeSql('d')} <= clock.now AND (SELECT ${anyHeld(tables)}) THEN d.group_id END AS group_id
  FROM ${tables.delay} d, clock
),
counted AS MATERIALIZED (
  SELECT name, group_id, ${COUNTS} FROM delays GROUP BY name, group_id
),
overdue AS (
  SELECT name, group_id FROM counted WHERE overdue > 0
),
${fullLimits(tables, 'overdue')},
of_group AS MATERIALIZED (
  SELECT d.*, CASE WHEN d.overdue > 0 THEN ${throttledBy(tables)} END AS held FROM counted d, clock
),
of_name AS (
  SELECT name, pg_catalog.sum(scheduled) AS scheduled, pg_catalog.sum(running) AS running, pg_catalog.sum(retrying) AS retrying, pg_catalog.sum(dead) AS dead,
         pg_catalog.sum(overdue) AS overdue, pg_catalog.max(oldest_overdue_ms) AS oldest_overdue_ms,
         COALESCE(pg_catalog.sum(overdue) FILTER (WHERE held = 'pause'), 0) AS paused,
         COALESCE(pg_catalog.sum(overdue) FILTER (WHERE held = 'limit'), 0) AS limited,
         COALESCE(pg_catalog.sum(overdue) FILTER (WHERE held IS NULL), 0) AS late,
         pg_catalog.max(oldest_overdue_ms) FILTER (WHERE held IS NULL) AS oldest_late_ms
  FROM of_group GROUP BY name
)
SELECT ${selected(OF_NAME)}
FROM of_name c
ORDER BY c.name`;

/**
 * The live nodes and how many delays each has leased; reads the table once. Parameter: alive_ms.
 */
export const nodeStatsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(nodeColumns(tables))}
FROM clock, ${tables.node} n
     LEFT JOIN (SELECT d.leased_by, pg_catalog.count(*) AS running FROM ${tables.delay} d
                WHERE d.leased_until > (SELECT now FROM clock) GROUP BY d.leased_by) r ON r.leased_by = n.id
WHERE ${lives('n', nodesNow(tables), '$1::float8')}
ORDER BY n.id`;
