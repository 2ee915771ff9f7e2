import {
  ageMs,
  anyHeld,
  asFlag,
  asInstant,
  asMs,
  asNumber,
  asText,
  clock,
  dateMs,
  epochMs,
  errorKind,
  firstLine,
  fullLimits,
  IS_SERVED,
  liveNames,
  lives,
  namesWithKeys,
  nodesNow,
  ON_PRIMARY,
  runningUnder,
  saidAt,
  selected,
  type Tables,
  throttledBy,
  wakeSql,
} from '../../core/ops.js';
import { asIso, asIsoOfMs } from './iso.js';

/*
 * What the dashboard's overview shows. Each statement reads a limited number of rows, in the order
 * of an index, and says how many it read: what has more is shown as "at least". `scope` is a
 * condition on row `d`, whose parameters come last; 'true' lets an index alone answer.
 */

export const BUCKET = {
  from: asIso('b.begins_at'),
  count: asNumber('c.count'),
  read: asNumber('c.read'),
};

/** Wakes by bucket, from now on. Parameters: how many buckets, step in ms, how many rows of each. */
export const bucketsSql = (tables: Tables, scope: string): string => `
WITH ${clock(tables)},
bucket AS MATERIALIZED (
  SELECT n.n, clock.now + n.n::float8 * s.step AS begins_at,
         clock.now + (n.n + 1)::float8 * s.step AS ends_at
  FROM clock, pg_catalog.generate_series(0, $1::int - 1) AS n(n),
       (SELECT $2::float8 * interval '1 millisecond' AS step) s
)
SELECT ${selected(BUCKET)}
FROM bucket b, LATERAL (
  SELECT pg_catalog.count(*) AS read, pg_catalog.count(*)${scope === 'true' ? '' : ` FILTER (WHERE ${scope})`} AS count
  FROM (SELECT ${scope === 'true' ? '' : 'd.name, d.group_id'} FROM ${tables.delay} d
        WHERE d.wake_at >= b.begins_at AND d.wake_at < b.ends_at
        ORDER BY d.wake_at, d.id LIMIT $3::int) d
) c
ORDER BY b.n`;

/** Attempts of rows `d` beyond their first. */
const RETRIES = `pg_catalog.sum(GREATEST(d.attempts - 1, 0)) AS retries`;

export const DUE = {
  name: asText('w.name'),
  running: asNumber('w.running'),
  retrying: asNumber('w.retrying'),
  late: asNumber('w.late'),
  held: asNumber('w.held'),
  oldestLateMs: asNumber<number | null>('w.oldest_late_ms'),
  retries: asNumber('w.retries'),
  /** Of all names. */
  read: asNumber('r.read'),
};

/**
 * What runs, what is late and what is held, by name, of the wakes that have passed, the oldest
 * first. Parameters: alive_ms, how many are read; then the scope's.
 */
export const dueSql = (tables: Tables, scope: string): string => `
WITH ${clock(tables)},
${liveNames(tables, '$1')},
due AS MATERIALIZED (
  SELECT d.name, d.group_id, d.attempts, ${wakeSql('d')} AS wake
  FROM ${tables.delay} d
  WHERE d.wake_at <= (SELECT now FROM clock)
  ORDER BY d.wake_at, d.id
  LIMIT $2::int
),
counted AS MATERIALIZED (
  SELECT d.name, d.group_id,
         pg_catalog.count(*) FILTER (WHERE d.wake > clock.now) AS running,
         pg_catalog.count(*) FILTER (WHERE d.wake <= clock.now AND d.attempts > 0) AS retrying,
         pg_catalog.count(*) FILTER (WHERE d.wake <= clock.now) AS overdue, ${RETRIES},
         pg_catalog.min(d.wake) FILTER (WHERE d.wake <= clock.now) AS since
  FROM due d, clock
  WHERE ${scope}
  GROUP BY d.name, d.group_id
),
overdue AS (SELECT name, group_id FROM counted WHERE overdue > 0),
${fullLimits(tables, 'overdue')},
of_group AS MATERIALIZED (
  SELECT d.*, ${IS_SERVED} AS is_served,
         CASE WHEN d.overdue > 0 AND (SELECT ${anyHeld(tables)}) THEN ${throttledBy(tables)} END AS held_by
  FROM counted d, clock
)
SELECT ${selected(DUE)}
FROM (SELECT pg_catalog.count(*) AS read FROM due) r
     LEFT JOIN (SELECT g.name, pg_catalog.sum(g.running) AS running, pg_catalog.sum(g.retrying) AS retrying,
             pg_catalog.sum(g.retries) AS retries,
             COALESCE(pg_catalog.sum(g.overdue) FILTER (WHERE g.held_by IS NULL), 0) AS late,
             COALESCE(pg_catalog.sum(g.overdue) FILTER (WHERE g.held_by IS NOT NULL), 0) AS held,
             ${ageMs('(SELECT now FROM clock)', 'pg_catalog.min(g.since) FILTER (WHERE g.held_by IS NULL)')} AS oldest_late_ms
      FROM of_group g GROUP BY g.name) w ON true
ORDER BY w.name`;

export const AHEAD = {
  name: asText('w.name'),
  scheduled: asNumber('w.scheduled'),
  retrying: asNumber('w.retrying'),
  retries: asNumber('w.retries'),
  read: asNumber('r.read'),
};

/** The next wakes by name. Parameters: how many are read; then the scope's. */
export const aheadSql = (tables: Tables, scope: string): string => `
WITH ${clock(tables)},
ahead AS MATERIALIZED (
  SELECT d.name, d.group_id, d.attempts FROM ${tables.delay} d
  WHERE d.wake_at > (SELECT now FROM clock) AND d.wake_at < 'infinity'
  ORDER BY d.wake_at, d.id LIMIT $1::int
)
SELECT ${selected(AHEAD)}
FROM (SELECT pg_catalog.count(*) AS read FROM ahead) r
     LEFT JOIN (SELECT d.name, pg_catalog.count(*) FILTER (WHERE d.attempts = 0) AS scheduled,
             pg_catalog.count(*) FILTER (WHERE d.attempts > 0) AS retrying, ${RETRIES}
      FROM ahead d WHERE ${scope} GROUP BY d.name) w ON true
ORDER BY w.name`;

export const DEAD = {
  name: asText('w.name'),
  kind: asText('w.kind'),
  line: asText('w.line'),
  count: asNumber('w.count'),
  retries: asNumber('w.retries'),
  newestAt: asIso('w.newest_at'),
  oldestAt: asIso('w.oldest_at'),
  sampleId: asText('w.sample_id::text', 'sample_id'),
  /** Of the sample, whole; null also where they are told apart by name alone. */
  error: asText<string | null>('w.error'),
  read: asNumber('r.read'),
};

/**
 * The newest dead letters, by name and, if wanted, by kind of error. Parameters: how many are read,
 * how many groups; then the scope's.
 */
export const deadSql = (tables: Tables, scope: string, by: 'name' | 'kind'): string => `
${ON_PRIMARY}, dead AS MATERIALIZED (
  SELECT d.id, d.name, d.group_id, d.due_at, d.attempts, d.last_error FROM ${tables.delay} d
  WHERE d.wake_at >= 'infinity'
  ORDER BY d.wake_at DESC, d.id DESC LIMIT $1::int
)
SELECT ${selected(DEAD)}
FROM (SELECT pg_catalog.count(*) AS read FROM dead) r
     LEFT JOIN LATERAL (SELECT g.*, ${by === 'kind' ? `(SELECT s.last_error FROM ${tables.delay} s WHERE s.id = g.sample_id)` : 'NULL::text'} AS error
      FROM (SELECT d.name, d.kind, pg_catalog.count(*) AS count, ${RETRIES},
             CASE WHEN pg_catalog.min(d.line) = pg_catalog.max(d.line) THEN pg_catalog.min(d.line) ELSE d.kind END AS line,
             pg_catalog.max(d.due_at) AS newest_at, pg_catalog.min(d.due_at) AS oldest_at,
             pg_catalog.max(d.id) AS sample_id
      FROM (SELECT d.*, ${by === 'kind' ? `${errorKind('d.last_error')} AS kind, ${firstLine('d.last_error')} AS line` : `'' AS kind, '' AS line`} FROM dead d WHERE ${scope}) d
      GROUP BY d.name, d.kind) g
      ORDER BY g.sample_id DESC LIMIT $2::int) w ON true
ORDER BY w.sample_id DESC`;

export const ENDS = {
  name: asText('w.name'),
  completed: asNumber('w.completed'),
  retries: asNumber('w.retries'),
  cancelled: asNumber('w.cancelled'),
  discarded: asNumber('w.discarded'),
  p50: asNumber<number | null>('w.late[1]::numeric'),
  p95: asNumber<number | null>('w.late[2]::numeric'),
  p99: asNumber<number | null>('w.late[3]::numeric'),
  read: asNumber('r.read'),
  sinceMs: asMs<number | null>(epochMs('r.since')),
};

/**
 * What ended lately, by name, the newest first. Parameters: at most how many ms ago, how many are
 * read; then the scope's.
 */
export const endsSql = (tables: Tables, scope: string): string => `
WITH ${clock(tables)},
ended AS MATERIALIZED (
  SELECT d.name, d.group_id, d.ended_at, d.state, d.attempts, d.lateness_ms FROM ${tables.history} d
  WHERE d.ended_at >= (SELECT now - $1::float8 * interval '1 millisecond' FROM clock)
  ORDER BY d.ended_at DESC, d.id DESC, d.epoch DESC LIMIT $2::int
)
SELECT ${selected(ENDS)}
FROM (SELECT pg_catalog.count(*) AS read, pg_catalog.min(ended_at) AS since FROM ended) r
     LEFT JOIN (SELECT d.name, pg_catalog.count(*) FILTER (WHERE d.state = 'completed') AS completed,
             ${RETRIES},
             pg_catalog.count(*) FILTER (WHERE d.state = 'cancelled') AS cancelled,
             pg_catalog.count(*) FILTER (WHERE d.state = 'discarded') AS discarded,
             pg_catalog.percentile_cont('{0.5,0.95,0.99}'::float8[]) WITHIN GROUP (ORDER BY d.lateness_ms)
               FILTER (WHERE d.state = 'completed') AS late
      FROM ended d WHERE ${scope} GROUP BY d.name) w ON true
ORDER BY w.name`;

export const nodeSeen = (tables: Tables) => ({
  name: asText('n.id', 'name'),
  names: {
    sql: 'pg_catalog.to_json(n.names)::text',
    name: 'names',
    read: (text: string) => JSON.parse(text) as string[],
  },
  startedAt: asIso(saidAt('n.started_at', tables)),
  seenAt: asIso(saidAt('n.seen_at', tables)),
  /** An idle node need not be seen until then. */
  awaitedMs: asInstant(saidAt('GREATEST(n.seen_at, n.idle_until)', tables)),
  isSilent: asFlag(`(NOT ${lives('n', nodesNow(tables), '$1::float8')})`),
  running: asNumber('COALESCE(r.running, 0)'),
  nextLeaseEndsAt: asIsoOfMs<string | null>(dateMs('r.ends_at')),
  read: asNumber('(SELECT pg_catalog.count(*) FROM due)'),
});

/**
 * The nodes, those that fell silent too, and what each holds of the wakes that have passed, the
 * oldest first. Parameters: alive_ms, how many wakes are read, how many nodes.
 */
export const nodesSeenSql = (tables: Tables): string => `
WITH ${clock(tables)},
due AS MATERIALIZED (
  SELECT d.leased_by, d.leased_until FROM ${tables.delay} d
  WHERE d.wake_at <= (SELECT now FROM clock)
  ORDER BY d.wake_at, d.id LIMIT $2::int
)
SELECT ${selected(nodeSeen(tables))}
FROM clock, (SELECT * FROM ${tables.node} ORDER BY seen_at DESC, id LIMIT $3::int) n
     LEFT JOIN (SELECT d.leased_by, pg_catalog.count(*) AS running, pg_catalog.min(d.leased_until) AS ends_at FROM due d
                WHERE d.leased_until > (SELECT now FROM clock) AND d.leased_until < 'infinity'
                GROUP BY d.leased_by) r ON r.leased_by = n.id
ORDER BY n.id`;

export const LIMIT = {
  name: asText('q.name'),
  group: asText<string | null>(`NULLIF(q.group_id, '')`, 'group_id'),
  running: asNumber('q.running'),
  of: asNumber<number | null>('q.full_slots'),
  fullSince: asIsoOfMs<string | null>(
    `CASE WHEN q.full_until > clock.now OR q.full_slots <= q.running THEN ${dateMs('q.full_since')} END`,
  ),
  nextAt: asIsoOfMs<string | null>(
    `CASE WHEN q.full_until > clock.now THEN ${dateMs('q.full_until')} END`,
  ),
};

/** Limits that claims have met, full ones first. Parameters: how many; then the scope's. */
export const limitsSql = (tables: Tables, scope: string): string => `
WITH ${clock(tables)},
first AS MATERIALIZED (
  SELECT d.* FROM ${tables.quota} d WHERE ${scope}
  ORDER BY d.full_since, d.name, d.group_id LIMIT $1::int
)
SELECT ${selected(LIMIT)}
FROM clock, (SELECT q.*, ${runningUnder(tables)} AS running FROM first q, clock) q
ORDER BY q.full_since, q.name, q.group_id`;

export const ESTIMATE = {
  name: asText('e.name'),
  count: asNumber('pg_catalog.round(e.count)'),
};

/**
 * How many live delays each name has, as the planner has it; common names alone. Parameter: the
 * table.
 */
export const estimatesSql = (): string => `
${ON_PRIMARY}
SELECT ${selected(ESTIMATE)}
FROM (SELECT v.name, v.share::numeric * c.reltuples::numeric AS count
      FROM pg_catalog.pg_class c
           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
           JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = 'name',
           LATERAL ROWS FROM (pg_catalog.unnest(s.most_common_vals::text::text[]), pg_catalog.unnest(s.most_common_freqs)) AS v(name, share)
      WHERE c.oid = pg_catalog.to_regclass($1::text) AND c.reltuples > 0::real) e`;

export const NAME_COUNT = {
  name: asText('n.name'),
  count: asNumber('n.count'),
  read: asNumber('r.read'),
};

/** Live delays of a scope that an index leads to, by name. Parameters: how many are read; then the scope's. */
export const namesInScopeSql = (tables: Tables, scope: string): string => `
${ON_PRIMARY}, found AS MATERIALIZED (SELECT d.name FROM ${tables.delay} d WHERE ${scope} LIMIT $1::int)
SELECT ${selected(NAME_COUNT)}
FROM (SELECT pg_catalog.count(*) AS read FROM found) r
     LEFT JOIN (SELECT f.name, pg_catalog.count(*) AS count
      FROM found f GROUP BY f.name) n ON true
ORDER BY n.name`;

/** Names of nodes, pauses, limits, and delays with a key. Parameter: how many. */
export const namesSql = ({ node, pause, quota, delay }: Tables): string => `
${ON_PRIMARY}
SELECT k.name FROM (
  SELECT pg_catalog.unnest(n.names) AS name FROM ${node} n
  UNION SELECT name FROM ${pause}
  UNION SELECT name FROM ${quota} WHERE group_id = ''
  UNION SELECT pg_catalog.unnest(${namesWithKeys(delay)})
) k
ORDER BY k.name LIMIT $1::int`;
