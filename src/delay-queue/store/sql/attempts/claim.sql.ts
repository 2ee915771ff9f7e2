import type { HistoryKept } from '../../../delay/attempts.js';
import { begunAttempt, lostAttempt } from '../parts/attempt-log.js';
import { clock } from '../parts/clock.js';
import { isOrphaned } from '../nodes/presence.sql.js';
import { isPaused } from '../pauses/pauses.sql.js';
import { expectFew } from '../parts/planner.js';
import { plusMs, presentEpochUs, wakeOf, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/**
 * Condition: the row `d`, which is asked for by `of`, may begin an attempt now; there is a `clock`. Parameter 7 is the
 * lock of this process.
 */
export const claimable = (tables: Tables, of: string): string =>
  `(${wakeOf('d')} <= clock.now OR d.wake_at <= clock.now AND ${isOrphaned('d', '$7::bigint')})
      AND d.attempts < COALESCE(d.max_attempts, ${of}.max_attempts)
      AND NOT ${isPaused(tables)}`;

/** Of the row `d` that was claimed; beside them stands `max_attempts`. */
export const CLAIMED_COLUMNS = `d.id, d.epoch, d.name, d.key, d.group_id, d.headers, d.repeat, d.payload,
            d.due_at, d.created_at, d.attempts`;

/** What a claim sets of the lease: of an attempt that a fence guards, the lock that its process holds; `of` was claimed. */
export const leaseBegins = (of: string): string =>
  `leased_until = ${plusMs('clock.now', `${of}.lease_ms`)}, leased_by = $5::text,
      lease_lock = CASE WHEN ${of}.fenced THEN $7::bigint END, epoch = d.epoch + 1`;

/** What a claim sets beside the lease, of an attempt that begins on the node that is parameter 5. */
export const attemptBegins = (kept: HistoryKept): string =>
  `, attempts = d.attempts + 1${kept === 'attempts' ? `,\n      attempt_log = ${begunAttempt('$5::text')}` : ''}`;

/** The answer of a claim. */
export const claimedAnswer = (claimed: string): string => `
       ${claimed}.id::text AS id, ${claimed}.epoch::text AS epoch, ${claimed}.name, ${claimed}.key,
       CASE WHEN ${claimed}.group_id IS NOT NULL OR ${claimed}.headers IS NOT NULL OR ${claimed}.repeat IS NOT NULL
            THEN pg_catalog.json_build_object('group', ${claimed}.group_id, 'headers', ${claimed}.headers,
                                   'repeat', ${claimed}.repeat) END::text AS extras,
       ${claimed}.payload::text AS payload,
       ${presentEpochUs(`${claimed}.due_at`)}::text AS due_us,
       ${presentEpochUs(`${claimed}.created_at`)}::text AS created_us, ${claimed}.attempts::text AS attempts,
       ${claimed}.max_attempts::text AS max_attempts,
       (SELECT ${presentEpochUs('now')}::text FROM clock) AS now_us`;

/**
 * Takes rows to run. Parameters: ids[], epochs[], lease_ms[], max_attempts[] (the handlers'), node, whether to name the
 * process's lock (an attempt that begins with a fence), and that lock. Answers the claimed rows alone; `look` says what
 * became of the others.
 *
 * What is locked is written where it lies, without another way through the index. A row of which
 * a new version was written in between is not found there, and counts as one that was missed.
 *
 * Writes only columns without an index: a HOT update. The lock sits in a materialized CTE because a
 * sub-select with LIMIT and SKIP LOCKED may be run more than once by the planner.
 */
export const claimSql = (tables: Tables, kept: HistoryKept): string =>
  claiming(tables, { onlyIf: claimable(tables, 'w'), set: attemptBegins(kept) });

/**
 * Takes rows that are about to become dead letters, and counts no attempt. One more parameter: whether that is for the
 * node to say, which holds their leases; else they are due and have no attempt left. Answers the last error, too.
 */
export const claimDyingSql = (tables: Tables, kept: HistoryKept): string =>
  claiming(tables, {
    onlyIf: `CASE WHEN $8::bool THEN d.leased_by = $5::text
      ELSE ${wakeOf('d')} <= clock.now AND d.attempts >= COALESCE(d.max_attempts, w.max_attempts)
        AND NOT ${isPaused(tables)} END`,
    // Of what its node holds the end is written when it is dead.
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
locked AS MATERIALIZED (
  SELECT d.ctid, w.lease_ms, w.fenced, COALESCE(d.max_attempts, w.max_attempts) AS max_attempts
  FROM wanted w, clock, LATERAL ${fencedRow(tables, 'w', {
    columns: 'd.ctid, d.max_attempts',
    and: onlyIf,
  })} d
  WHERE ${expectFew('w')}
),
claimed AS (
  UPDATE ${tables.delay} d
  SET ${leaseBegins('l')}${set}
  FROM locked l, clock
  WHERE d.ctid = l.ctid
  RETURNING ${CLAIMED_COLUMNS}, l.max_attempts${answers === '' ? '' : ', d.last_error'}
)
SELECT ${claimedAnswer('c')}${answers}
FROM claimed c`;
