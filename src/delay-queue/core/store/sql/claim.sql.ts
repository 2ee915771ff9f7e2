import type { HistoryKept } from '../../config/options.js';
import { epochMs, plusMs, presentEpochUs, type Tables, wakeSql } from '../../database/tables.js';
import { EXTRA_COLUMNS, EXTRA_NAMES, EXTRAS } from '../rows/columns.js';
import { clock, expectFew, isOrphaned, STAYS_APART } from './fragments/clock.js';
import { begunAttempt, lostAttempt } from './history.sql.js';
import { fencedRow } from './fragments/target-rows.js';
import { isPaused } from './nodes.sql.js';

/** Condition: row `d` may begin an attempt now, for request `w`; $7 is this process's lock. */
const claimable = (tables: Tables): string =>
  `(${wakeSql('d')} <= clock.now OR d.wake_at <= clock.now AND ${isOrphaned('d', '$7::bigint')})
      AND d.attempts < COALESCE(d.max_attempts, w.max_attempts)
      AND NOT ${isPaused(tables)}`;

/** Columns of the claimed row `d`; the statements add `max_attempts`. */
const CLAIMED_COLUMNS = `d.id, d.epoch, d.name, d.key, ${EXTRA_COLUMNS.map((column) => `d.${column}`).join(', ')}, d.repeat, d.payload,
            d.due_at, d.created_at, d.attempts`;

/** What a claim of `l` sets for the lease; with a fence, also the process's lock. */
const LEASE_BEGINS = `leased_until = ${plusMs('clock.now', 'l.lease_ms')}, leased_by = $5::text,
      lease_lock = CASE WHEN l.fenced THEN $7::bigint END, epoch = d.epoch + 1`;

/** What a claim sets besides the lease, for an attempt on node $5. */
const attemptBegins = (kept: HistoryKept): string =>
  `, attempts = d.attempts + 1${kept === 'attempts' ? `,\n      attempt_log = ${begunAttempt('$5::text')}` : ''}`;

/** The answer of claimed row `c`. */
const CLAIMED_ANSWER = `
       c.id::text AS id, c.epoch::text AS epoch, c.name, c.key,
       CASE WHEN ${[...EXTRA_COLUMNS, 'repeat'].map((column) => `c.${column} IS NOT NULL`).join(' OR ')}
            THEN pg_catalog.json_build_object(${EXTRA_NAMES.map((extra) => `'${extra}', c.${EXTRAS[extra].column}`).join(', ')},
                                   'repeat', c.repeat) END::text AS extras,
       c.payload::text AS payload,
       ${presentEpochUs('c.due_at')}::text AS due_us,
       ${presentEpochUs('c.created_at')}::text AS created_us, c.attempts::text AS attempts,
       c.max_attempts::text AS max_attempts,
       (SELECT ${presentEpochUs('now')}::text FROM clock) AS now_us`;

/**
 * Claims rows. Parameters: ids[], epochs[], lease_ms[], max_attempts[] (the handlers'), node,
 * fenced[] (the row is to name the process's lock), and that lock. Answers only the claimed rows;
 * `lookAtSql` reports on the others.
 *
 * A locked row is updated by its ctid: one that got a new version in between is missed. Only
 * columns without an index are written: a HOT update. The lock is in a materialized CTE because the
 * planner may run a sub-select with LIMIT and SKIP LOCKED more than once.
 */
export const claimSql = (tables: Tables, kept: HistoryKept): string =>
  claiming(tables, { onlyIf: claimable(tables), set: attemptBegins(kept) });

/**
 * The same for rows that will become dead letters, without counting an attempt. One more parameter:
 * true if the node holds their leases; false: they are due with no attempt left. Also answers the
 * last error.
 */
export const claimExhaustedSql = (tables: Tables, kept: HistoryKept): string =>
  claiming(tables, {
    onlyIf: `CASE WHEN $8::bool THEN d.leased_by = $5::text
      ELSE ${wakeSql('d')} <= clock.now AND d.attempts >= COALESCE(d.max_attempts, w.max_attempts)
        AND NOT ${isPaused(tables)} END`,
    // The end of an attempt that its node holds is logged with the dead letter.
    set:
      kept === 'attempts'
        ? `, attempt_log = CASE WHEN $8::bool THEN d.attempt_log ELSE ${lostAttempt('d')} END`
        : '',
    answers: ', c.last_error',
  });

const claiming = (
  tables: Tables,
  { onlyIf, set, answers = '' }: { onlyIf: string; set: string; answers?: string },
): string => `
WITH ${clock(tables)},
wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::int[], $6::bool[])
           AS w(id, epoch, lease_ms, max_attempts, fenced)
),
${claimed(tables, 'wanted', { onlyIf, set, answers: answers === '' ? '' : ', d.last_error' })}
SELECT ${CLAIMED_ANSWER}${answers}
FROM claimed c`;

/** CTE `claimed`: those rows of `from` that may be claimed. */
const claimed = (
  tables: Tables,
  from: string,
  { onlyIf, set, answers = '' }: { onlyIf: string; set: string; answers?: string },
): string => `locked AS MATERIALIZED (
  SELECT d.ctid, w.lease_ms, w.fenced, COALESCE(d.max_attempts, w.max_attempts) AS max_attempts
  FROM ${from} w, clock, LATERAL ${fencedRow(tables, 'w', {
    columns: 'd.ctid, d.max_attempts',
    and: onlyIf,
  })} d
  WHERE ${expectFew('w')}
),
claimed AS (
  UPDATE ${tables.delay} d
  SET ${LEASE_BEGINS}${set}
  FROM locked l, clock
  WHERE d.ctid = l.ctid
  RETURNING ${CLAIMED_COLUMNS}, l.max_attempts${answers}
)`;

/** One second beyond the lease: a renewal that read the clock before its end may commit later. */
const PLACE_KEPT_UNTIL = `clock.now - interval '1 second'`;

/** Time since `q` was filled. Subtracting an infinite instant would fail each claim under it. */
const SINCE_FILLED =
  '(SELECT now FROM clock) - CASE WHEN pg_catalog.isfinite(q.filled_at) THEN q.filled_at ELSE (SELECT now FROM clock) END';

/**
 * 0.999 tokens and a refill of 0.001 make a wait of 1.0000000000000009 ms, which would last for
 * two.
 */
const whole = (tokensOrMs: string): string =>
  `pg_catalog.round((${tokensOrMs})::numeric, 9)::float8`;

/** Counts rows for each limit: of each group, and of the whole name. */
const ofEachLimit = (rows: string, group: string, those = 'true'): string => `
  SELECT name, ${group} AS group_id, pg_catalog.count(*) AS many FROM ${rows} WHERE ${those} AND ${group} <> '' GROUP BY 1, 2
  UNION ALL
  SELECT name, '', pg_catalog.count(*) FROM ${rows} WHERE ${those} GROUP BY 1`;

/**
 * Claims rows within their limits, whose locks are held: see {@link lockQuotasSql}.
 *
 * Parameters: as for {@link claimSql}; then of the handlers, one array each: names, concurrency,
 * burst and refill_per_ms of the whole name, the same three of each group; 0 means no limit. A row
 * for each claim, or a single one without. Each has `left`, what is left of each limit: [name,
 * group, how many may begin now, in how many ms half of the burst has refilled]. The last is 0
 * while a token is left. A clock that was set back neither fills nor empties a bucket. A row that
 * is taken over has the slot of the attempt that lost its process.
 *
 * Written for plans made for empty tables: limits and permits are updated by ctid, or each would be
 * compared with each, and each permit looks up its row, because an EXISTS may read all rows.
 */
export const claimLimitedSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::int[], $6::bool[]) WITH ORDINALITY
           AS w(id, epoch, lease_ms, max_attempts, fenced, ord)
),
rule AS MATERIALIZED (
  SELECT * FROM unnest($8::text[], $9::int[], $10::float8[], $11::float8[], $12::int[], $13::float8[],
                       $14::float8[])
           AS r(name, all_concurrency, all_burst, all_refill, group_concurrency, group_burst, group_refill)
),
seen AS MATERIALIZED (
  SELECT w.*, d.name, COALESCE(d.group_id, '') AS group_id, d.orphaned
  FROM wanted w, clock, LATERAL (
    SELECT d.name, d.group_id, ${isOrphaned('d', '$7::bigint')} IS TRUE AS orphaned FROM ${tables.delay} d
    WHERE d.id = w.id AND d.epoch = w.epoch AND ${claimable(tables)} OFFSET 0
  ) d
),
met AS MATERIALIZED (
  SELECT q.at, k.name, k.group_id, k.concurrency, k.refill, LEAST(k.burst, GREATEST(0, q.tokens)
           + GREATEST(0, ${epochMs(SINCE_FILLED)}::float8) * k.refill) AS tokens, k.burst
  FROM (
    SELECT r.name, '' AS group_id, r.all_concurrency AS concurrency, r.all_burst AS burst, r.all_refill AS refill
    FROM rule r
    UNION ALL
    SELECT r.name, s.group_id, r.group_concurrency, r.group_burst, r.group_refill
    FROM rule r JOIN (SELECT DISTINCT name, group_id FROM seen WHERE group_id <> '') s ON s.name = r.name
  ) k, LATERAL (
    SELECT ctid AS at, tokens, filled_at FROM ${tables.quota} WHERE name = k.name AND group_id = k.group_id OFFSET 0
  ) q
  WHERE k.concurrency > 0 OR k.burst > 0::float8
),
counted AS MATERIALIZED (
  SELECT p.*, (SELECT d.id FROM ${tables.delay} d, clock
               WHERE d.id = p.id AND d.epoch = p.epoch
                 AND d.leased_until > ${PLACE_KEPT_UNTIL} LIMIT 1) IS NOT NULL AS runs
  FROM (
    SELECT p.* FROM met m, LATERAL (
      SELECT ctid AS at, * FROM ${tables.permit} WHERE name = m.name OFFSET 0
    ) p
    WHERE m.group_id = ''
    UNION ALL
    SELECT p.* FROM met m, LATERAL (
      SELECT ctid AS at, * FROM ${tables.permit} WHERE name = m.name AND group_id = m.group_id OFFSET 0
    ) p
    WHERE m.group_id <> '' AND NOT EXISTS (SELECT FROM met a WHERE a.name = m.name AND a.group_id = '')
  ) p
),
running AS MATERIALIZED (${ofEachLimit(
  'counted',
  'group_id',
  'runs AND id <> ALL (ARRAY(SELECT s.id FROM seen s WHERE s.orphaned))',
)}),
room AS MATERIALIZED (
  SELECT m.*, LEAST(m.free, CASE WHEN m.burst > 0::float8 THEN pg_catalog.floor(${whole('m.tokens')}) END)::int AS slots
  FROM (SELECT m.*, CASE WHEN m.concurrency > 0 THEN m.concurrency - COALESCE(r.many, 0) END AS free
        FROM met m LEFT JOIN running r USING (name, group_id)) m
),
in_group AS (
  SELECT s.*, pg_catalog.row_number() OVER (PARTITION BY s.name, s.group_id ORDER BY s.ord) AS rank FROM seen s
),
fits_group AS (
  SELECT g.id, g.epoch, g.lease_ms, g.max_attempts, g.fenced, g.name,
         pg_catalog.row_number() OVER (PARTITION BY g.name ORDER BY g.ord) AS rank
  FROM in_group g LEFT JOIN room r ON r.name = g.name AND r.group_id = g.group_id AND r.group_id <> ''
  WHERE g.rank <= COALESCE(r.slots, g.rank)
),
fits AS MATERIALIZED (
  SELECT f.* FROM fits_group f LEFT JOIN room r ON r.name = f.name AND r.group_id = ''
  WHERE f.rank <= COALESCE(r.slots, f.rank)
),
${claimed(tables, 'fits', { onlyIf: claimable(tables), set: attemptBegins(kept) })},
permitted AS (
  INSERT INTO ${tables.permit} (name, group_id, id, epoch)
  SELECT c.name, COALESCE(c.group_id, ''), c.id, c.epoch
  FROM claimed c JOIN rule r USING (name)
  WHERE r.all_concurrency > 0 OR r.group_concurrency > 0 AND c.group_id IS NOT NULL
),
over AS (
  DELETE FROM ${tables.permit} p USING counted c WHERE NOT c.runs AND p.ctid = c.at AND ${expectFew('c')}
),
began AS MATERIALIZED (${ofEachLimit('claimed', "COALESCE(group_id, '')")}),
used AS MATERIALIZED (
  SELECT u.*, CASE WHEN u.burst > 0::float8 AND u.left_of < 1::float8
         THEN GREATEST(0, pg_catalog.ceil(${whole('(pg_catalog.ceil(u.burst / 2::float8) - u.left_of) / u.refill')})) ELSE 0 END AS wait_ms
  FROM (SELECT r.*, COALESCE(b.many, 0) AS many, r.tokens - COALESCE(b.many, 0)::float8 AS left_of FROM room r LEFT JOIN began b USING (name, group_id)) u
),
spent AS (
  UPDATE ${tables.quota} q
  SET tokens = CASE WHEN u.burst > 0::float8 THEN u.left_of ELSE q.tokens END, filled_at = clock.now,
      full_since = CASE WHEN u.slots <= u.many THEN COALESCE(q.full_since, clock.now) END,
      full_until = CASE WHEN u.wait_ms > 0::float8 THEN ${plusMs('clock.now', 'u.wait_ms')} END,
      full_slots = CASE WHEN u.free <= u.many THEN u.concurrency END
  FROM used u, clock
  WHERE q.ctid = u.at
)
SELECT ${CLAIMED_ANSWER}, l.left
FROM (
  SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(u.name, u.group_id, u.slots - u.many, u.wait_ms)), '[]')::text AS left
  FROM used u
) l LEFT JOIN claimed c ON true`;

/**
 * Deletes permits whose row is gone or has moved on, as of a group that is never met again.
 * Parameter: limit. Answers how many.
 */
export const forgetPermitsSql = ({ delay, permit }: Tables): string => `
WITH old AS MATERIALIZED (
  SELECT p.ctid FROM ${permit} p
  WHERE (SELECT d.id FROM ${delay} d WHERE d.id = p.id AND d.epoch = p.epoch LIMIT 1) IS NULL
  LIMIT $1::int FOR UPDATE SKIP LOCKED
),
deleted AS (
  DELETE FROM ${permit} p USING old WHERE p.ctid = old.ctid RETURNING p.id
)
SELECT pg_catalog.count(*)::text AS count FROM deleted`;

/** Ample: the next statement of that transaction follows at once. */
const IDLE_MS_MAX = 5_000;

/**
 * Locks all limits that a claim may meet until the transaction ends, in the same order on every
 * node; a new one begins full. The next statement sees what other nodes have claimed under them.
 *
 * Parameters: ids[] of the delays, names[] of the handlers, whether each limits the whole name,
 * whether each limits its groups.
 *
 * A process that stops before its COMMIT must not stop all others: the server ends an idle session.
 */
export const lockQuotasSql = ({ delay, quota, now }: Tables): string => `
WITH ${clock({ now })},
idle AS MATERIALIZED (
  SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', '${IDLE_MS_MAX}', true) AS max
),
rule AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::bool[], $4::bool[]) AS r(name, limits_all, limits_groups)
),
met AS (
  SELECT name, '' AS group_id FROM rule WHERE limits_all
  UNION
  SELECT d.name, d.group_id
  FROM pg_catalog.unnest($1::bigint[]) AS w(id), LATERAL (
    SELECT d.name, d.group_id FROM ${delay} d WHERE d.id = w.id ${STAYS_APART}
  ) d JOIN rule r ON r.name = d.name AND r.limits_groups
  WHERE d.group_id IS NOT NULL
)
INSERT INTO ${quota} AS q (name, group_id, tokens, filled_at)
SELECT met.name, met.group_id, 'infinity'::float8, clock.now FROM met, clock, idle ORDER BY met.name, met.group_id
ON CONFLICT (name, group_id) DO UPDATE SET filled_at = q.filled_at
RETURNING q.name`;
