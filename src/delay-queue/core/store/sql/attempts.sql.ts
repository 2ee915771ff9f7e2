import type { HistoryKept } from '../../config/options.js';
import { CLAIM_LOST } from '../../database/driver-errors.js';
import { epochMs, plusMs, type Tables, wakeSql, wholeMs } from '../../database/tables.js';
import {
  asFlag,
  asJson,
  asNumber,
  asText,
  historyExtras,
  type RowOf,
  selected,
} from '../rows/columns.js';
import { msOrNull } from '../rows/delay-rows.js';
import { wrongWith } from '../rows/row-rules.js';
import {
  clock,
  AS_BEFORE,
  expectFew,
  GIVES_WAY,
  IS_LIMITED,
  lives,
  nodesNow,
} from './fragments/clock.js';
import { endedAttempt, intoHistory, movedTo, withoutLastAttempt } from './history.sql.js';
import { RELEASED } from './fragments/state-and-error.js';
import { fencedRow, rowById } from './fragments/target-rows.js';

/**
 * Removes finished delays, into history. Parameters: ids[], epochs[], lateness_ms[]. Answers the
 * ids that it did not remove, usually none. SKIP LOCKED, so that a batch never waits for one row.
 *
 * No join here can compare each row with each (ADR 0017): an IN inside an expression uses a hash
 * table, and a FULL JOIN is hashed or merged.
 */
export const completeSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS i(id, epoch, lateness_ms)
),
locked AS MATERIALIZED (
  SELECT d.ctid
  FROM ${tables.delay} d
  WHERE d.id = ANY ($1::bigint[])
    AND ((d.id, d.epoch) IN (SELECT i.id, i.epoch FROM input i)) IS TRUE
  FOR UPDATE SKIP LOCKED
),
gone AS (
  DELETE FROM ${tables.delay} d USING locked l WHERE d.ctid = l.ctid
  RETURNING ${removed(kept)}
),
answered AS MATERIALIZED (
  SELECT i.id AS asked_id, i.lateness_ms, g.* FROM input i FULL JOIN gone g ON g.id = i.id AND g.epoch = i.epoch
)${intoHistory(tables, kept, {
  ...completed('a', 'a.lateness_ms'),
  from: 'answered a',
  where: 'a.id IS NOT NULL',
})}
SELECT a.asked_id::text AS id FROM answered a WHERE a.id IS NULL`;

/**
 * The fence of an attempt's transaction: the same for one row, as its last statement, which gives
 * way ({@link GIVES_WAY}). Parameters: id, epoch, and lateness_ms where history is kept. Without
 * such a row its cast fails, so that a COMMIT sent behind it in the same text does not run. With
 * arrays each call would be planned anew, for 300 µs.
 */
export const removeOneSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables, GIVES_WAY)},
gone AS (
  DELETE FROM ${tables.delay} d WHERE d.id = $1::bigint AND d.epoch = $2::bigint AND ${IS_LIMITED}
  RETURNING ${removed(kept)}, ${AS_BEFORE} AS lock_timeout
)${intoHistory(tables, kept, { ...completed('g', '$3::float8'), from: 'gone g' })}
${allOrNone('EXISTS (SELECT FROM gone)', '$1::bigint')}`;

/**
 * The fence of a batch: it must hit every row. Parameters: ids[], epochs[], and lateness_ms[] where
 * history is kept.
 */
export const removeAllSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables, GIVES_WAY)},
input AS MATERIALIZED (
  SELECT * FROM ${kept === 'nothing' ? 'unnest($1::bigint[], $2::bigint[]) AS i(id, epoch)' : 'unnest($1::bigint[], $2::bigint[], $3::float8[]) AS i(id, epoch, lateness_ms)'}
),
gone AS (
  DELETE FROM ${tables.delay} d
  WHERE d.id = ANY ($1::bigint[]) AND ((d.id, d.epoch) IN (SELECT i.id, i.epoch FROM input i)) IS TRUE
    AND ${IS_LIMITED}
  RETURNING ${removed(kept)}
),
counted AS MATERIALIZED (
  SELECT g.count, CASE WHEN g.count >= 0 THEN ${AS_BEFORE} END AS lock_timeout
  FROM (SELECT pg_catalog.count(*) AS count FROM gone) g
)${intoHistory(tables, kept, {
  ...completed('g', 'i.lateness_ms'),
  from: 'gone g JOIN input i ON i.id = g.id',
  where: '(SELECT c.lock_timeout FROM counted c) IS NOT NULL',
})}
${allOrNone('(SELECT c.count FROM counted c) = pg_catalog.cardinality($1::bigint[])', '($1::bigint[])[1]')}`;

const allOrNone = (isComplete: string, id: string): string =>
  `SELECT (CASE WHEN ${isComplete} THEN '0' ELSE '${CLAIM_LOST} ' || ${id}::text END)::int::text AS done`;

/**
 * Locks the rows of an attempt before its last statements, where these are about several or move a
 * row on; gives way ({@link GIVES_WAY}). Parameters: ids[], epochs[]. Answers how many it holds.
 */
export const holdSql = (tables: Tables): string => `
WITH ${clock(tables, GIVES_WAY)},
held AS MATERIALIZED (
  SELECT i.id
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS u(id, epoch) ORDER BY u.id) i,
       LATERAL ${fencedRow(tables, 'i', { columns: 'd.id', and: IS_LIMITED, waits: true })} d
)
SELECT h.count::text AS held, CASE WHEN h.count >= 0 THEN ${AS_BEFORE} END AS lock_timeout
FROM (SELECT pg_catalog.count(*) AS count FROM held) h`;

const completed = (of: string, latenessMs: string) => ({
  of,
  state: "'completed'",
  latenessMs,
  error: 'NULL',
  attemptLog: endedAttempt(of, "'completed'"),
});

/** Columns of the removed row. */
const removed = (kept: HistoryKept): string =>
  kept === 'nothing'
    ? 'd.id, d.epoch'
    : [...ENDED, ...historyExtras(kept)].map((column) => `d.${column}`).join(', ');

const ENDED = ['id', 'due_at', 'created_at', 'epoch', 'attempts', 'name', 'key', 'leased_by'];

/**
 * Makes dead letters of rows that are due with no attempt left: the last one reported no result.
 * Parameters: ids[], epochs[], max_attempts[], error.
 */
export const exhaustedSql = (tables: Tables): string => `
WITH ${clock(tables)},
wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(id, epoch, max_attempts)
),
locked AS MATERIALIZED (
  SELECT d.ctid
  FROM wanted w, clock, LATERAL ${fencedRow(tables, 'w', {
    columns: 'd.ctid',
    and: `${wakeSql('d')} <= clock.now AND d.attempts >= COALESCE(d.max_attempts, w.max_attempts)`,
  })} d
  WHERE ${expectFew('w')}
),
exhausted AS (
  UPDATE ${tables.delay} d
  SET wake_at = 'infinity', epoch = d.epoch + 1, ${RELEASED},
      last_error = COALESCE(d.last_error, $4::text)
  FROM locked l
  WHERE d.ctid = l.ctid
  RETURNING d.id, d.name, d.key, d.group_id, d.headers, d.attempts, d.last_error
)
SELECT ${selected(EXHAUSTED)} FROM exhausted d`;

/** A row without an attempt left. */
export const EXHAUSTED = {
  id: asNumber('d.id'),
  name: asText('d.name'),
  key: asText<string | null>('d.key'),
  group: asText<string | null>('d.group_id'),
  headers: asJson('d.headers'),
  attempts: asNumber('d.attempts'),
  error: asText('d.last_error'),
};

export type ExhaustedRow = RowOf<typeof EXHAUSTED>;

/** A row that could not be read: its id may be too large for JavaScript. */
export const SET_ASIDE = { ...EXHAUSTED, id: asText('d.id::text') };

/** Row `d` as it was committed. */
export const LOOKED = {
  id: asNumber('d.id'),
  epoch: asNumber('d.epoch'),
  name: asText('d.name'),
  attempts: asNumber('d.attempts'),
  max_attempts: asNumber<number | null>('d.max_attempts'),
  node: asText<string | null>('d.leased_by'),
  group: asText<string | null>('d.group_id'),
  /** JSON text; null: it does not recur. */
  repeat: asJson('d.repeat'),
  due_ms: asNumber(epochMs('d.due_at')),
  failed: asFlag('(d.last_error IS NOT NULL)'),
  /** It is live and cannot be read. */
  is_odd: asFlag(`(d.wake_at < 'infinity' AND ${wrongWith('d')} IS NOT NULL)`),
  /** Null: a dead letter. */
  wake_ms: asNumber<number | null>(
    `CASE WHEN d.wake_at < 'infinity' THEN ${epochMs(wakeSql('d'))} END`,
  ),
  now_ms: asNumber(epochMs('clock.now')),
};

export type LookedRow = RowOf<typeof LOOKED>;

/** The committed state of rows that a batch did not get; a missing row is gone. Parameter: ids[]. */
export const lookAtSql = ({ delay, now }: Tables): string => `
WITH ${clock({ now })}
SELECT ${selected(LOOKED)}
FROM ${delay} d, clock
WHERE d.id = ANY ($1::bigint[])`;

/** How many refusals a row remembers; beyond that, an attempt is spent. */
const REFUSED_BY_MAX = 64;

/**
 * Passes rows that this node cannot read on to live nodes that serve the name and have not refused
 * the row; no attempt is spent. Parameters: ids[], epochs[], wait_ms[] (absent: the wake stays),
 * node, alive_ms. Fenced by epoch and owner.
 *
 * One row per claim that holds; `passes` is false when no other node is left: the row keeps its
 * lease, and the attempt is then spent. A refusal stays until the row is written anew, or the
 * refusing process is gone.
 */
export const passOnSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
live AS MATERIALIZED (
  SELECT n.id, n.names, COALESCE(n.instance, n.id) AS process,
         ${lives('n', nodesNow(tables), '$5::float8')} AS lives
  FROM ${tables.node} n, clock
),
input AS MATERIALIZED (
  SELECT i.id, i.epoch, ${msOrNull('i.wait_ms')} AS wait_ms
  FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS i(id, epoch, wait_ms)
),
held AS MATERIALIZED (
  SELECT d.ctid, i.wait_ms,
         ARRAY(SELECT n.process FROM live n
               WHERE n.id = $4::text OR n.process = ANY (d.refused_by) LIMIT ${REFUSED_BY_MAX}) AS refused_by,
         COALESCE(pg_catalog.cardinality(d.refused_by), 0) < ${REFUSED_BY_MAX}
           AND EXISTS (SELECT FROM live n
                       WHERE n.lives AND n.id <> $4::text AND d.name = ANY (n.names)
                         AND n.process <> ALL (COALESCE(d.refused_by, '{}'))) AS passes
  FROM input i, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid, d.name, d.refused_by',
    and: 'd.leased_by = $4::text',
  })} d
  WHERE ${expectFew('i')}
),
written AS (
  UPDATE ${tables.delay} d
  SET refused_by = h.refused_by,
      wake_at = CASE WHEN h.passes THEN COALESCE(${wholeMs(plusMs('clock.now', 'h.wait_ms'))}, d.wake_at) ELSE d.wake_at END,
      epoch = CASE WHEN h.passes THEN d.epoch + 1 ELSE d.epoch END,
      attempts = CASE WHEN h.passes THEN d.attempts - 1 ELSE d.attempts END,
      leased_until = CASE WHEN h.passes THEN NULL ELSE d.leased_until END,
      leased_by = CASE WHEN h.passes THEN NULL ELSE d.leased_by END${
        kept === 'attempts'
          ? `,
      attempt_log = CASE WHEN h.passes THEN ${withoutLastAttempt('d')} ELSE d.attempt_log END`
          : ''
      }
  FROM held h, clock
  WHERE d.ctid = h.ctid
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at, d.last_error IS NOT NULL AS failed, h.passes
)
SELECT ${selected(PASSED)} FROM written d`;

/** A row that was written back to wait. */
export const RETRIED = {
  id: asNumber('d.id'),
  epoch: asNumber('d.epoch'),
  name: asText('d.name'),
  group: asText<string | null>('d.group_id'),
  failed: asFlag('d.failed'),
  /** Null: a dead letter. */
  wake_ms: asNumber<number | null>(
    `CASE WHEN d.wake_at < 'infinity' THEN ${epochMs('d.wake_at')} END`,
  ),
};

export const PASSED = {
  ...RETRIED,
  wake_ms: asNumber(epochMs('d.wake_at')),
  /** False: no other node may read it, and the attempt goes on. */
  passed: asFlag('d.passes'),
};

/**
 * Renews leases. Parameters: ids[], epochs[], lease_ms. Answers the ids that it renewed: also of
 * ended leases, if no other attempt has claimed the row, but not under a limit, where its slot may
 * have been taken.
 */
export const renewSql = (tables: Tables): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS i(id, epoch)),
locked AS MATERIALIZED (
  SELECT d.ctid
  FROM input i, clock, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid',
    and: `d.leased_by IS NOT NULL AND (d.leased_until > clock.now OR NOT EXISTS (
      SELECT FROM ${tables.quota} q WHERE q.name = d.name AND q.group_id IN ('', d.group_id)))`,
  })} d
  WHERE ${expectFew('i')}
),
renewed AS (
  UPDATE ${tables.delay} d SET leased_until = ${plusMs('clock.now', '$3::float8')}
  FROM locked l, clock
  WHERE d.ctid = l.ctid
  RETURNING d.id
)
SELECT r.id::text AS id FROM renewed r`;

/**
 * Ends attempts whose delay stays: retried, postponed, released, or dead. Parameters, one array
 * each: ids, epochs, wait_ms (absent: dead letter), moves_due, refunds (attempts given back),
 * failed (false: the last error stays), errors; the node; where attempts are kept, how each ended.
 * Fenced by epoch and owner; answers the rows that it moved.
 */
export const retrySql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT i.*, ${wholeMs(plusMs('clock.now', msOrNull('i.wait_ms')))} AS wake_at
  FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::bool[], $5::int[], $6::bool[], $7::text[]${kept === 'attempts' ? ', $9::text[]' : ''})
       AS i(id, epoch, wait_ms, moves_due, refund, failed, error${kept === 'attempts' ? ', ends' : ''}), clock
),
locked AS MATERIALIZED (
  SELECT d.ctid, i.*
  FROM input i, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid',
    and: 'd.leased_by = $8::text',
  })} d
  WHERE ${expectFew('i')}
),
retried AS (
  UPDATE ${tables.delay} d
  SET wake_at = COALESCE(l.wake_at, 'infinity'),
      due_at = CASE WHEN l.moves_due THEN l.wake_at ELSE d.due_at END,
      attempts = d.attempts - l.refund, epoch = d.epoch + 1, ${RELEASED}, last_error = CASE WHEN l.failed THEN l.error ELSE d.last_error END,
      move_log = CASE WHEN l.moves_due THEN ${movedTo('l.wake_at', 'postpone')} ELSE d.move_log END${
        kept === 'attempts'
          ? `,
      attempt_log = ${LOG_OF_ENDED}`
          : ''
      }
  FROM locked l
  WHERE d.ctid = l.ctid
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at, d.last_error IS NOT NULL AS failed
)
SELECT ${selected(RETRIED)} FROM retried d`;

const LOG_OF_ENDED = `CASE l.ends WHEN 'unbegun' THEN ${withoutLastAttempt('d')}
           ELSE ${endedAttempt('d', 'l.ends', 'CASE WHEN l.failed THEN l.error END')} END`;

/** Rows per statement whose ids are too large for JavaScript. */
const UNNAMED_MAX = 1_000;

/**
 * Makes dead letters of the rows that cannot be read, among these ids and ids too large for
 * JavaScript. Parameter: ids[]. A leased row stays until its lease ends, if that is finite. An
 * unreadable epoch has no successor: it begins again at 0.
 */
export const setAsideSql = (tables: Tables): string => `
WITH ${clock(tables)},
wanted AS MATERIALIZED (
  SELECT w.id FROM pg_catalog.unnest($1::bigint[]) AS w(id)
  UNION
  (SELECT d.id FROM ${tables.delay} d WHERE d.id > ${Number.MAX_SAFE_INTEGER} ORDER BY d.id LIMIT ${UNNAMED_MAX})
),
odd AS MATERIALIZED (
  SELECT d.* FROM (SELECT id FROM wanted ORDER BY id) w, clock, LATERAL ${rowById(tables, 'w', {
    columns: `d.ctid, ${wrongWith('d')} AS why`,
    and: `(d.wake_at < 'infinity' OR d.leased_by IS NOT NULL) AND ${wrongWith('d')} IS NOT NULL
      AND (d.leased_until > clock.now AND pg_catalog.isfinite(d.leased_until)) IS NOT TRUE`,
    lock: 'at once',
  })} d
  WHERE ${expectFew('w')}
),
parked AS (
  UPDATE ${tables.delay} d
  SET wake_at = 'infinity', ${RELEASED}, last_error = o.why,
      epoch = CASE WHEN d.epoch BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER - 1} THEN d.epoch + 1 ELSE 0 END
  FROM odd o
  WHERE d.ctid = o.ctid
  RETURNING d.id, d.name, d.key, d.group_id, d.headers, d.attempts, d.last_error
)
SELECT ${selected(SET_ASIDE)} FROM parked d`;

/**
 * Records that the attempts of these delays must abort. Parameters: ids[], and the calling node,
 * which notifies its own attempts itself. Answers the claims that hold the delays. In its own
 * table: a transactional attempt locks its row, and no writer waits for a handler.
 */
export const askAbortsSql = (tables: Tables): string => `
WITH ${clock(tables)},
asked AS MATERIALIZED (
  SELECT d.id, d.epoch, d.leased_by
  FROM pg_catalog.unnest($1::bigint[]) AS i(id), LATERAL ${rowById(tables, 'i', {
    columns: 'd.id, d.epoch, d.leased_by',
    and: 'd.leased_by IS NOT NULL',
    lock: 'none',
  })} d
),
written AS (
  INSERT INTO ${tables.abort} (id, epoch, asked_at)
  SELECT a.id, a.epoch, clock.now FROM asked a, clock WHERE a.leased_by <> $2::text ORDER BY a.id
  ON CONFLICT DO NOTHING
)
SELECT ${selected(ASKED)} FROM asked d`;

/** The claim of a row. */
export const CLAIM = { id: asNumber('d.id'), epoch: asNumber('d.epoch') };

/** `isOwn`: the calling node holds it. */
export const ASKED = { ...CLAIM, isOwn: asFlag('(d.leased_by = $2::text)') };

/**
 * Takes the abort requests for these claims and for earlier ones of their delays. Parameters:
 * ids[], epochs[]. One that another statement locks is left to the next look.
 */
export const takeAbortsSql = ({ abort }: Tables): string => `
WITH gone AS (
  DELETE FROM ${abort} WHERE ctid = ANY (ARRAY(
    SELECT a.at
    FROM unnest($1::bigint[], $2::bigint[]) AS i(id, epoch), LATERAL (
      SELECT r.ctid AS at FROM ${abort} r WHERE r.id = i.id AND r.epoch <= i.epoch FOR UPDATE SKIP LOCKED
    ) a
  ))
  RETURNING id, epoch
)
SELECT ${selected(CLAIM)} FROM gone d`;
