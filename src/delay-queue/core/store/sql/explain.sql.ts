import type { DelayRecord, DelayWait } from '../../api/delay.js';
import type { LockSession } from '../../database/lock-waits.js';
import { lockSession } from '../../database/lock-waits.sql.js';
import { dateMs, epochMs, type Tables, wakeSql } from '../../database/tables.js';
import {
  asFlag,
  asInstant,
  asMs,
  asNumber,
  asParsed,
  asText,
  takenFrom,
  type RowOf,
  selected,
} from '../rows/columns.js';
import { clock, isOrphaned, lives, nodesNow, saidAt } from './fragments/clock.js';
import { fullLimits, runningUnder, waitsFor } from './stats.sql.js';

/** How the delay is named: by name and key, or by id. */
export type ExplainedBy = 'key' | 'id';

/** Due delays that are looked through, at most: a place beyond that is a crowd. */
export const PLACES_MAX = 10_000;

/** Newest lines of history that are looked through: for an id, and for a node that ran a name. */
const ENDS_MAX = { ofId: 10_000, ofName: 1_000 };

/** Nodes that are listed, at most. */
const NODES_MAX = 1_000;

const WHICH = {
  key: 'd.name = $2::text AND d.key = $3::text',
  id: 'd.id = $2::bigint',
} as const;

/** Columns of the live delay `d` that a role for dashboards may read too: no payload, no headers. */
const READ = `d.id, d.name, d.key, d.group_id, d.due_at, d.wake_at, d.leased_until, d.leased_by, d.lease_lock,
         d.attempts, d.max_attempts, d.last_error, d.attempt_log, d.xmax`;

/**
 * Whose open transaction has locked or changed the row. A row names the last transaction that
 * locked it, and each open one holds a lock on its own number. Several that share the row have a
 * number of another kind, and are not found.
 */
const HOLDER_OF_ROW = `(
  SELECT pg_catalog.json_build_object('session', ${lockSession('l.pid', 'a')})
  FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'transactionid' AND l.transactionid = d.xmax AND l.granted AND l.mode = 'ExclusiveLock'
  LIMIT 1)`;

/** Live delay `d`. Needs the CTEs `clock`, `live` and `full_limit`. */
const live = (tables: Tables) => ({
  id: asText('d.id::text'),
  name: asText('d.name'),
  key: asText<string | null>('d.key'),
  group: asText<string | null>('d.group_id'),
  dueMs: asInstant('d.due_at'),
  wakeMs: asInstant('d.wake_at'),
  attempts: asNumber('d.attempts'),
  maxAttempts: asNumber<number | null>('d.max_attempts'),
  error: asText<string | null>('d.last_error'),
  node: asText<string | null>('d.leased_by'),
  leaseMs: asMs<number | null>(dateMs(`NULLIF(d.leased_until, 'infinity')`)),
  /** Its process is gone, before the lease ends. No process is its own here. */
  isOrphaned: asFlag(`(${isOrphaned('d', '0::bigint')} IS TRUE)`),
  /** Its process is alive, whatever its node's heartbeat says. */
  isLocked: asFlag(`(d.lease_lock IS NOT NULL AND NOT ${isOrphaned('d', '0::bigint')})`),
  holder: asParsed<{ session: LockSession } | null>(HOLDER_OF_ROW),
  /** The last entry of its attempt log. */
  lastAttempt: asParsed<unknown>('(d.attempt_log -> -1)'),
  waitsFor: asParsed<Pick<DelayWait, 'what'> | null>(waitsFor(tables)),
});

/** The live delay, if there is one, and all that may hold it; instants in milliseconds since 1970. */
export const explainColumns = (tables: Tables) => {
  return {
    ...takenFrom('f', live(tables)),
    nowMs: asInstant('clock.now'),
    pauses: asParsed<ExplainedPause[] | null>(pauses(tables)),
    limits: asParsed<ExplainedLimit[] | null>(limits(tables)),
    nodes: asParsed<ExplainedNode[] | null>(NODES),
    /** Its group picks its owner, as claims under a limit of the groups show. */
    isByGroup: asFlag(hasGroupLimitSql(tables)),
    lastRun: asParsed<{ node: string; atMs: number } | null>(lastRun(tables)),
    place: asParsed<Place | null>(PLACE),
    ended: asParsed('(SELECT e.line FROM ended e)', readEnd),
  };
};

/** Null fields: no such delay lives. */
export type ExplainedRow = RowOf<ReturnType<typeof explainColumns>>;

const JSON_OF = 'pg_catalog.json_build_object';

export interface ExplainedPause {
  group: string | null;
  why: string | null;
  by: string | null;
  pausedMs: number;
  untilMs: number | null;
}

/** The pauses of its name and group, the one that ends last first. */
const pauses = ({ pause }: Tables): string => `(
  SELECT pg_catalog.json_agg(${JSON_OF}('group', NULLIF(p.group_id, ''), 'why', p.reason, 'by', p.paused_by,
           'pausedMs', ${dateMs('p.paused_at')},
           'untilMs', CASE WHEN p.until < 'infinity' THEN ${dateMs('p.until')} END)
         ORDER BY p.until DESC, p.group_id)
  FROM ${pause} p
  WHERE p.name = f.name AND p.group_id IN ('', f.group_id) AND p.until > clock.now)`;

export interface ExplainedLimit {
  group: string | null;
  sinceMs: number;
  untilMs: number | null;
  of: number | null;
  running: number;
}

/** The full limits of its name and group. */
const limits = (tables: Tables): string => `(
  SELECT pg_catalog.json_agg(${JSON_OF}('group', NULLIF(q.group_id, ''), 'sinceMs', ${dateMs('q.full_since')},
           'untilMs', CASE WHEN q.full_until > clock.now THEN ${dateMs('q.full_until')} END,
           'of', q.full_slots, 'running', ${runningUnder(tables)}) ORDER BY q.group_id)
  FROM full_limit q
  WHERE q.name = f.name AND q.group_id IN ('', f.group_id))`;

export interface ExplainedNode {
  name: string;
  lives: boolean;
  serves: boolean;
  heardMs: number;
  silentMs: number;
  /** Has no share while it is. */
  isIdle: boolean;
}

/** The nodes that serve its name or hold it, live ones first. */
const NODES = `(
  SELECT pg_catalog.json_agg(${JSON_OF}('name', n.id, 'lives', n.lives, 'serves', f.name = ANY (n.names),
           'heardMs', ${dateMs('n.heard_at')}, 'silentMs', n.silent_ms, 'isIdle', n.is_idle)
         ORDER BY n.lives DESC, n.heard_at DESC, n.id)
  FROM known n WHERE f.name = ANY (n.names) OR n.id = f.leased_by)`;

/** By the order the planner uses the index, however many limits other names have. */
const hasGroupLimitSql = ({ quota }: Tables): string => `
  (f.group_id IS NOT NULL AND (SELECT q.group_id FROM ${quota} q WHERE q.name = f.name AND q.group_id > ''
                               ORDER BY q.group_id LIMIT 1) IS NOT NULL)`;

/** Which node ran a delay of the name, if no node is known to have served it. */
const lastRun = ({ history }: Tables): string => `
  CASE WHEN f.id IS NOT NULL AND NOT EXISTS (SELECT FROM known n WHERE f.name = ANY (n.names)) THEN (
    SELECT ${JSON_OF}('node', h.node, 'atMs', ${dateMs('h.ended_at')})
    FROM (SELECT name, node, ended_at FROM ${history}
          ORDER BY ended_at DESC, id DESC, epoch DESC LIMIT ${ENDS_MAX.ofName}) h
    WHERE h.name = f.name AND h.node IS NOT NULL
    ORDER BY h.ended_at DESC LIMIT 1) END`;

export interface Place {
  inName: number;
  inGroup: number;
  atLeast: boolean;
  running: Readonly<Record<string, number>> | null;
}

/** For a delay that nothing holds: what comes before it, and what its nodes run. */
const PLACE = `
  CASE WHEN f.waits_for::json ->> 'what'::text = 'turn' THEN ${JSON_OF}(
    'inName', (SELECT LEAST(pg_catalog.count(*), ${PLACES_MAX}) FROM before b WHERE b.is_waiting AND b.name = f.name),
    'inGroup', (SELECT LEAST(pg_catalog.count(*), ${PLACES_MAX}) FROM before b
                WHERE b.is_waiting AND b.name = f.name AND b.group_id = f.group_id),
    'atLeast', (SELECT pg_catalog.count(*) FROM before) > ${PLACES_MAX}
               OR (SELECT pg_catalog.count(*) FROM ahead) > ${PLACES_MAX},
    'running', (SELECT pg_catalog.json_object_agg(r.node, r.many)
                FROM (SELECT a.leased_by AS node, pg_catalog.count(*) AS many FROM ahead a
                      WHERE a.is_leased AND a.name = f.name GROUP BY a.leased_by) r)) END`;

export type EndedLine = Omit<DelayRecord, 'headers' | 'createdAt' | `${string}Log`>;

function readEnd(end: unknown): EndedLine | null {
  if (end === null) return null;
  type KeptEnd = Omit<EndedLine, 'dueAt' | 'endedAt'> & Record<'dueMs' | 'endedMs', number>;
  const { dueMs, endedMs, ...kept } = end as KeptEnd;
  return { ...kept, dueAt: new Date(dueMs), endedAt: new Date(endedMs) };
}

const ENDED = `${JSON_OF}('id', h.id::text, 'name', h.name, 'key', h.key, 'group', h.group_id, 'state', h.state,
         'dueMs', ${dateMs('h.due_at')}, 'endedMs', ${dateMs('h.ended_at')}, 'latenessMs', h.lateness_ms::numeric,
         'error', h.error, 'node', h.node, 'attempts', h.attempts, 'by', h.ended_by)`;

/** The newest end of that key, or of that id. No index finds an id, and few delays have no key. */
const newestEndSql = ({ history }: Tables, by: ExplainedBy): string =>
  by === 'key'
    ? `
  SELECT ${ENDED} AS line FROM ${history} h
  WHERE h.name = $2::text AND h.key = $3::text AND NOT EXISTS (SELECT FROM page)
  ORDER BY h.ended_at DESC, h.epoch DESC LIMIT 1`
    : `
  SELECT ${ENDED} AS line
  FROM (SELECT n.ended_at, n.id, n.epoch
        FROM (SELECT ended_at, id, epoch FROM ${history}
              WHERE NOT EXISTS (SELECT FROM page)
              ORDER BY ended_at DESC, id DESC, epoch DESC LIMIT ${ENDS_MAX.ofId}) n
        WHERE n.id = $2::bigint
        ORDER BY n.ended_at DESC, n.epoch DESC LIMIT 1) l, LATERAL (
    SELECT * FROM ${history} WHERE ended_at = l.ended_at AND id = l.id AND epoch = l.epoch OFFSET 0
  ) h`;

/**
 * One delay and all that may hold it; always one row. Parameters: alive_ms, then name and key, or
 * the id. Reads by key, and at most 10,000 due delays from the oldest on and as many before its own
 * place: only for a delay that nothing else holds. A claim leaves the wake as it is, so those that
 * run are among them.
 */
export const explainSql = (tables: Tables, by: ExplainedBy): string => {
  const heard = 'GREATEST(n.seen_at, n.idle_until)';
  const isTurn = `(SELECT f.waits_for::json ->> 'what'::text FROM found f) = 'turn'`;
  return `
WITH ${clock(tables)},
page AS MATERIALIZED (
  SELECT ${READ} FROM ${tables.delay} d WHERE ${WHICH[by]}
),
known AS MATERIALIZED (
  SELECT n.id, n.names, n.idle_until IS NOT NULL AS is_idle, ${saidAt(heard, tables)} AS heard_at,
         GREATEST(${epochMs(`${nodesNow(tables)} - ${heard}`)}, 0) AS silent_ms,
         ${lives('n', nodesNow(tables), '$1::float8')} AS lives
  FROM ${tables.node} n, clock
  ORDER BY n.seen_at DESC, n.id LIMIT ${NODES_MAX}
),
live AS MATERIALIZED (SELECT n.names FROM known n WHERE n.lives),
${fullLimits(tables, 'page')},
found AS MATERIALIZED (
  SELECT ${selected(live(tables))}
  FROM page d, clock
),
before AS MATERIALIZED (
  SELECT b.name, b.group_id, b.is_waiting
  FROM page p, LATERAL (
    SELECT d.name, d.group_id, ${wakeSql('d')} <= (SELECT now FROM clock) AS is_waiting
    FROM ${tables.delay} d
    WHERE d.wake_at <= (SELECT now FROM clock) AND (d.wake_at, d.id) < (p.wake_at, p.id)
    ORDER BY d.wake_at DESC, d.id DESC LIMIT ${PLACES_MAX + 1}
  ) b
  WHERE ${isTurn}
),
ahead AS MATERIALIZED (
  SELECT d.name, d.leased_by, ${wakeSql('d')} > (SELECT now FROM clock) AS is_leased
  FROM ${tables.delay} d
  WHERE d.wake_at <= (SELECT now FROM clock) AND ${isTurn}
  ORDER BY d.wake_at, d.id LIMIT ${PLACES_MAX + 1}
),
ended AS MATERIALIZED (${newestEndSql(tables, by)}
)
SELECT ${selected(explainColumns(tables))}
FROM clock LEFT JOIN found f ON true`;
};
