import type { DelayWait } from '../core/index.js';
import {
  ageMs,
  anyHeld,
  asFlag,
  asJson,
  asNumber,
  asText,
  clock,
  expectMany,
  fullLimits,
  IS_SERVED,
  liveNames,
  type RowOf,
  selected,
  type Tables,
  throttledBy,
  wakeSql,
} from '../core/ops.js';
import { silentNodes } from './checks/delays.sql.js';

/** What holds a due delay back, in the words of `waitsFor`. */
export type Holding = Extract<DelayWait['what'], 'pause' | 'limit'>;

/** The overdue delays of a name that the same holds: a pause, a limit, or neither. */
export const BACKLOG = {
  name: asText('w.name'),
  isServed: asFlag('w.is_served'),
  /** Null: they are late. */
  heldBy: asText<Holding | null>('w.held_by'),
  overdue: asNumber('w.overdue'),
  oldestMs: asNumber('w.oldest_ms'),
};

export type BacklogRow = RowOf<typeof BACKLOG>;

/**
 * Of an overdue row `d`: since when it has waited for its handler. One that is claimed and given back
 * again and again, because its transaction does not begin, has done so since it was due.
 */
const READ = `d.id, d.name, d.group_id, CASE
  WHEN d.leased_until IS NULL AND d.attempts = 0
  THEN LEAST(d.wake_at, GREATEST(d.due_at, d.created_at)) ELSE ${wakeSql('d')} END AS since`;

/**
 * What is overdue, by name; reads nothing of the future. A crowd of one name, such as a paused
 * campaign, would hide all others: a node passes ids of each name that waits on it. Parameters:
 * alive_ms, ids[], and how many of the longest overdue are read: as a constant, a plan made for an
 * empty table would sort all that is overdue. Proof: `test/integration/kept-plans.spec.ts`.
 */
export const backlogSql = (tables: Tables): string => `
WITH ${clock(tables)},
${liveNames(tables, '$1')},
oldest AS MATERIALIZED (
  SELECT ${READ}
  FROM ${tables.delay} d, clock
  WHERE d.wake_at <= (SELECT now FROM clock)
  ORDER BY d.wake_at, d.id
  LIMIT $3::int
),
due AS MATERIALIZED (
  SELECT * FROM oldest
  UNION
  SELECT ${READ} FROM ${tables.delay} d, clock WHERE d.id = ANY ($2::bigint[]) AND ${expectMany('d.wake_at <= (SELECT now FROM clock)')}
),
overdue AS MATERIALIZED (
  SELECT d.name, d.group_id, pg_catalog.count(*) AS overdue, pg_catalog.min(d.since) AS since
  FROM due d, clock WHERE d.since <= clock.now
  GROUP BY d.name, d.group_id
),
${fullLimits(tables, 'overdue')},
of_group AS (
  SELECT d.*, ${IS_SERVED} AS is_served,
         CASE WHEN (SELECT ${anyHeld(tables)}) THEN ${throttledBy(tables)} END AS held_by
  FROM overdue d, clock
),
of_name AS (
  SELECT d.name, d.held_by, pg_catalog.bool_or(d.is_served) AS is_served, pg_catalog.sum(d.overdue) AS overdue,
         pg_catalog.min(d.since) AS since
  FROM of_group d
  GROUP BY d.name, d.held_by
)
SELECT ${selected(BACKLOG)}
FROM (SELECT n.*, ${ageMs('clock.now', 'n.since')} AS oldest_ms FROM of_name n, clock) w
ORDER BY w.since, w.name, w.held_by`;

/** What is silent for longer is no news: a killed process may have been replaced. */
const SILENT_TOLD_MS = 300_000;

const SILENT_NODES_MAX = 10;

/** The database as this session sees it, and the nodes that fell silent lately. */
export const VITALS = {
  dead: asNumber('v.dead'),
  dueSoon: asNumber('v.due_soon'),
  isReadOnly: asFlag('v.is_read_only'),
  /** Of `SilentNode`; null: none. */
  silentNodes: asJson('v.silent_nodes'),
};

export type VitalsRow = RowOf<typeof VITALS>;

/** The last ones to fall silent; needs the CTE `clock`. */
const silentLately = (tables: Tables, aliveMs: string): string => `(
  SELECT pg_catalog.json_agg(pg_catalog.json_build_object('node', n.node, 'silentMs', n.silent_ms)
                             ORDER BY n.silent_ms, n.node)
  FROM (SELECT * FROM ${silentNodes(tables, aliveMs)} s
        WHERE s.silent_ms < ${aliveMs} + ${SILENT_TOLD_MS}::float8
        ORDER BY s.silent_ms, s.node
        LIMIT ${SILENT_NODES_MAX}) n)`;

/** Dead letters, and what is due within a minute. Parameters: each is counted up to this; alive_ms. */
export const vitalsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(VITALS)}
FROM (SELECT
  (SELECT pg_catalog.count(*) FROM (
     SELECT FROM ${tables.delay} d WHERE d.wake_at = 'infinity' LIMIT $1::int) x) AS dead,
  (SELECT pg_catalog.count(*) FROM (
     SELECT FROM ${tables.delay} d
     WHERE d.wake_at > (SELECT now FROM clock) AND d.wake_at <= (SELECT now + interval '1 minute' FROM clock)
     LIMIT $1::int) x) AS due_soon,
  pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only') = 'on' AS is_read_only,
  ${silentLately(tables, '$2::float8')} AS silent_nodes) v`;
