import type { DelayPause } from '../../api/selection.js';
import { epochMs, plusMs, type Tables, wholeMs } from '../../database/tables.js';
import { type AnswerColumn, asDate, asText, selected } from '../rows/columns.js';
import {
  clock,
  lockingClock,
  liveNames,
  lives,
  type LockWait,
  nodesNow,
  notLeftOut,
} from './fragments/clock.js';
import { before } from './history.sql.js';

/**
 * Where rows are forgotten when they are old: the instant that a row's age counts from, and the order
 * of the index that has the oldest first. A node that lives after all comes back with its next heartbeat.
 */
const FORGOTTEN = {
  node: { since: 'seen_at', order: ' ORDER BY seen_at, id' },
  abort: { since: 'asked_at', order: ' ORDER BY asked_at' },
  pause: { since: 'until', order: '' },
  quota: { since: 'filled_at', order: '' },
} as const;

export type ForgottenTable = keyof typeof FORGOTTEN;

/** Deletes old rows, except those that another session locks. Parameters: age_ms, limit. Answers how many. */
export const forgetSql = (tables: Tables, place: ForgottenTable): string => `
WITH deleted AS (
  DELETE FROM ${tables[place]}
  WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${tables[place]} WHERE ${FORGOTTEN[place].since} < ${before('$1')}${FORGOTTEN[place].order}
    LIMIT $2::int FOR UPDATE SKIP LOCKED))
  RETURNING 1 AS one
)
SELECT pg_catalog.count(*)::text AS count FROM deleted`;

/** Most rows that it reads. If there are more, the node reads again when the last of these is due. */
const LOOKS_AT_MAX = 1_000;

/**
 * An idle node records how long it leaves the database alone: until half a horizon before the next
 * wake of its names, in any node's share, because a suspended server needs time to start. A row
 * that another node has leased has its wake in the past, and keeps this node awake. Parameters:
 * node, names[], skipped groups, the longest time in ms, horizon_ms. Answers `idle_ms`; no row if
 * there is something to do within the horizon.
 */
export const idleSql = (tables: Tables): string => `
WITH ${clock(tables)},
ahead AS MATERIALIZED (
  SELECT d.wake_at, d.name, d.group_id FROM ${tables.delay} d
  WHERE d.wake_at < 'infinity'
  ORDER BY d.wake_at, d.id
  LIMIT ${LOOKS_AT_MAX}
),
next AS (
  SELECT pg_catalog.min(w.wake_at) AS wake_at
  FROM (SELECT a.wake_at FROM ahead a
        WHERE a.name = ANY ($2::text[]) AND ${notLeftOut('a', { leftOut: '$3::text[]' })}
        UNION ALL
        SELECT pg_catalog.max(a.wake_at) FROM ahead a HAVING pg_catalog.count(*) = ${LOOKS_AT_MAX}) w
),
span AS (
  SELECT LEAST($4::float8, EXTRACT(epoch FROM next.wake_at - clock.now)::float8 * 1e3::float8 - $5::float8 / 2::float8) AS ms
  FROM next, clock
  WHERE next.wake_at IS NULL OR next.wake_at > ${plusMs('clock.now', '$5::float8')}
)
UPDATE ${tables.node} n
SET idle_until = ${plusMs(nodesNow(tables), 'span.ms')}
FROM span, clock
WHERE n.id = $1::text
RETURNING span.ms::text AS idle_ms`;

/** A node leaves the cluster. Parameter: node. */
export const leaveSql = ({ node }: Tables): string => `
DELETE FROM ${node} WHERE id = $1::text RETURNING id AS node`;

/** The names that no live node serves. Parameters: names[], alive_ms. */
export const unservedSql = (tables: Tables): string => `
WITH ${clock(tables)},
${liveNames(tables, '$2')}
SELECT w.name FROM pg_catalog.unnest($1::text[]) AS w(name)
WHERE NOT EXISTS (SELECT FROM live WHERE w.name = ANY (live.names))`;

/** The ids of the live nodes. Parameter: alive_ms. */
export const liveNodesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT n.id
FROM ${tables.node} n, clock
WHERE ${lives('n', nodesNow(tables), '$1::float8')}`;

/** In total: nodes keep pauses in memory, and send those of groups with each load. */
export const PAUSES_MAX = 1_000;

/** In the table, `infinity` stands for a pause without an end. */
export const PAUSE = {
  name: asText('p.name'),
  group: asText<string | null>(`NULLIF(p.group_id, '')`, 'group_id'),
  reason: asText<string | null>('p.reason'),
  by: asText<string | null>('p.paused_by'),
  pausedAt: asDate(epochMs('p.paused_at')),
  /** Null: no end. */
  until: asDate<Date | null>(`CASE WHEN p.until < 'infinity' THEN ${epochMs('p.until')} END`),
} satisfies { [Field in keyof DelayPause]: AnswerColumn<DelayPause[Field]> };

/** Condition: `d` is paused. Usually no pause exists, and no row is compared with any. */
export const isPaused = ({ pause }: Tables): string => `(
    (SELECT EXISTS (SELECT FROM ${pause})) AND EXISTS (
      SELECT FROM ${pause} p
      WHERE p.name = d.name AND p.group_id IN ('', d.group_id) AND p.until > clock.now))`;

/** The names of an array that are not paused as a whole: a scan then skips a paused backlog. */
export const unpausedNames = ({ pause }: Tables, names: string): string => `ARRAY(
    SELECT n.name FROM pg_catalog.unnest(${names}) AS n(name)
    WHERE NOT EXISTS (SELECT FROM ${pause} p, clock WHERE p.name = n.name AND p.group_id = '' AND p.until > clock.now))`;

/** The pauses in effect, as a JSON array; needs the CTE `clock`. */
export const pausesJson = ({ pause }: Tables): string => `
       (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(p.name, p.group_id,
                 CASE WHEN p.until < 'infinity' THEN ${epochMs('p.until')} END)
                 ORDER BY p.name, p.group_id), '[]')::text
        FROM ${pause} p, clock WHERE p.until > clock.now)`;

/**
 * Pauses a name or one of its groups, or changes an existing pause. Parameters: name, group (''),
 * reason, duration in ms, until (both null: no end), by whom. Answers no row if there are too many, or if `until` has passed.
 */
export const pauseSql = ({ pause, now }: Tables, lockWait: LockWait): string => `
WITH ${lockingClock({ now }, lockWait)},
others AS (
  SELECT pg_catalog.count(*) AS many FROM ${pause} p, clock
  WHERE p.until > clock.now AND (p.name, p.group_id) <> ($1::text, $2::text)
),
paused AS (
  INSERT INTO ${pause} AS p (name, group_id, reason, paused_by, paused_at, until)
  SELECT $1::text, $2::text, $3::text, $6::text, clock.now,
         COALESCE($5::timestamptz, ${wholeMs(plusMs('clock.now', '$4::float8'))}, 'infinity')
  FROM clock, others WHERE others.many < ${PAUSES_MAX} AND ($5::timestamptz > clock.now) IS NOT FALSE
  ON CONFLICT (name, group_id) DO UPDATE
  SET reason = excluded.reason, paused_by = excluded.paused_by, until = excluded.until,
      paused_at = CASE WHEN p.until > excluded.paused_at THEN p.paused_at ELSE excluded.paused_at END
  RETURNING p.*
)
SELECT ${selected(PAUSE)} FROM paused p`;

/** Ends a pause. Parameters: name, group (''). Answers a row if it was in effect. */
export const resumeSql = ({ pause, now }: Tables, lockWait: LockWait): string => `
WITH ${lockingClock({ now }, lockWait)},
resumed AS (
  DELETE FROM ${pause} p USING clock WHERE p.name = $1::text AND p.group_id = $2::text RETURNING p.*
)
SELECT ${selected(PAUSE)} FROM resumed p, clock WHERE p.until > clock.now`;

export const pausesSql = ({ pause, now }: Tables): string => `
WITH ${clock({ now })}
SELECT ${selected(PAUSE)} FROM ${pause} p, clock WHERE p.until > clock.now ORDER BY p.name, p.group_id`;
