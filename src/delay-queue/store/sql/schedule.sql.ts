import type { HistoryKept } from '../../api/history.js';
import {
  epochMs,
  nextEpoch,
  plusMs,
  presentEpochUs,
  type Tables,
  wholeEpochMs,
  wholeMs,
} from '../../database/tables.js';
import { instantOrNull, keyOrNull, maximumOrNull } from '../rows/delay-rows.js';
import {
  besideInput,
  clock,
  clockOf,
  HELD_MAX_MS,
  isRowOf,
  type LockWait,
  STAYS_APART,
} from './fragments/clock.js';
import { intoHistory, logged } from './fragments/history.js';
import { freeRows, goesOnAsItDid, isDeclared, looked, repeatFrom } from './fragments/look.js';
import { keyedRow } from './fragments/targets.js';

/**
 * How long a statement about many callers' keys waits for one that another session is inserting in a
 * transaction of its own. Postgres has no SKIP LOCKED for that. Longer than a commit takes, so that
 * nodes that meet on a key do not refuse each other, and far shorter than `deadlock_timeout`.
 */
const INSERT_WAITS_MS_MAX = 10;

/** What the statement waits for an uncommitted key, at most; undefined where it is not ours to say. */
const LIMITS_MS: Record<LockWait, number | undefined> = {
  waits: undefined,
  'a while': HELD_MAX_MS,
  'at once': INSERT_WAITS_MS_MAX,
};

/**
 * Whether a statement writes what few delays have, too: group and headers, or those and how they recur. Its last
 * parameter is an array of them, as JSON texts. Each column of each row costs, and so the others do without.
 */
export type Columns = 'usual' | 'all' | 'recurring';

const COLUMNS: Record<Columns, readonly string[]> = {
  usual: [],
  all: ['group_id', 'headers'],
  recurring: ['group_id', 'headers', 'repeat'],
};

/** What they are for the input `i`, due at `d.due`. */
const valuesOf = (columns: Columns): string[] => {
  if (columns === 'usual') return [];
  const values = [extrasOf('i.extras')];
  if (columns === 'all') return values;
  return [...values, repeatFrom(`(i.extras::jsonb -> 'repeat'::text)`, 'd.due')];
};

/** SQL for group and headers out of such a text. */
const extrasOf = (text: string): string =>
  `${text}::jsonb ->> 'group'::text, ${text}::jsonb -> 'headers'::text`;

const listed = (items: readonly string[]): string => items.map((item) => `, ${item}`).join('');

const insertInto = ({ delay }: Tables, columns: Columns): string => `
INSERT INTO ${delay} (name, key, payload, due_at, wake_at, max_attempts, created_at${listed(COLUMNS[columns])})
SELECT i.name, ${keyOrNull('i.key')}, i.payload::jsonb, d.due, GREATEST(d.due, clock.whole),
       ${maximumOrNull('i.max_attempts')}, clock.now${listed(valuesOf(columns))}
FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[]${
  columns === 'usual' ? '' : ', $7::text[]'
})
     WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts${
       columns === 'usual' ? '' : ', extras'
     }, ord), clock,
     LATERAL (
       SELECT COALESCE(${instantOrNull('i.at')},
                       clock.whole + i.after_ms * interval '1 millisecond') AS due
     ) d`;

/**
 * From the INSERT itself: a CTE around it costs a tenth of the statement's time. `wake_at` is left out, which
 * follows from the other two, and the clock is written once for all rows: each text of each row costs the
 * server a thirtieth.
 */
const returning = (...more: string[]): string => `
RETURNING ${['id::text AS id', ...more].join(', ')}, ${wholeEpochMs('due_at')}::text AS due_ms,
          (SELECT ${presentEpochUs('now')}::text FROM clock) AS now_us`;

/**
 * The row of a key, if it is taken for all to see. As a scalar sub-select it is an index look-up per
 * key, whatever the planner thinks of the table's size.
 */
const rowOf = ({ delay }: Tables, input: string): string =>
  `(SELECT t.id FROM ${delay} t WHERE t.name = ${input}.name AND t.key = ${keyOrNull(`${input}.key`)} LIMIT 1)`;

/**
 * Inserts delays; a key that is taken is left alone and missing from the answer.
 *
 * A key that is taken for all to see is not even tried: a unique index lets an INSERT wait for
 * a writer of the row there, and a handler that moved its own row on may take its time.
 *
 * With lockWait, a key that is inserted meanwhile is left alone as well. Being ready for that costs
 * each row a quarter of its time, for Postgres inserts it twice then, and it happens to few. So
 * `at once`, which is for a statement that is a transaction of its own, is not: it fails with 23505, and
 * with 55P03 where it would have to wait for another session's uncommitted key.
 *
 * Parameters, one array each, sorted by (name, key): names, keys, payloads, after_ms (whole; counts where
 * `at` is absent), at, max_attempts. Identities follow the order of the arrays, so the caller can match keyless rows.
 */
export const scheduleNewSql = (
  tables: Tables,
  lockWait: LockWait,
  columns: Columns = 'usual',
): string => `
WITH ${clock(tables, { whole: true, waitsMs: LIMITS_MS[lockWait] })}${insertInto(tables, columns)}
WHERE ${rowOf(tables, 'i')} IS NULL
ORDER BY i.ord${
  lockWait === 'at once' ? '' : '\nON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING'
}${returning('name', 'key')}`;

/**
 * Inserts all, or none when a key is taken: a statement that is a transaction of its own may not leave
 * some out. It fails with 23505 where one of the keys is inserted meanwhile, and with 55P03 where that takes too
 * long. Parameters as there; the answer has no names and keys, which are a fifth of what there is to read for the caller.
 */
export const scheduleAllNewSql = (tables: Tables, columns: Columns = 'usual'): string => `
WITH ${clock(tables, { whole: true, waitsMs: LIMITS_MS['a while'] })}${insertInto(tables, columns)}
WHERE NOT EXISTS (
  SELECT FROM unnest($1::text[], $2::text[]) AS k(name, key) WHERE ${rowOf(tables, 'k')} IS NOT NULL
)
ORDER BY i.ord${returning()}`;

/** Inserts delays without a key, which can be in no other call's way. Parameters and answer as there, the keys all null. */
export const scheduleKeylessSql = (tables: Tables, columns: Columns = 'usual'): string => `
WITH ${clock(tables, { whole: true })}${insertInto(tables, columns)}
ORDER BY i.ord${returning()}`;

/** Whether each item is written for itself, or all of them or none: then no item answers `again` or `conflict`. */
type Extent = 'each' | 'all or none';

/**
 * Whether a call says how a delay recurs. Each text of this statement is planned at each call, so those that do not say it
 * have one without.
 */
export type Says = 'when' | 'how it recurs';

/** Code says how `f` recurs, and calls do not. */
const IS_REFUSED = `${isDeclared('f.repeat')} AND f.extras::jsonb -> 'repeat'::text IS NOT NULL`;

/**
 * CTE `writable`: the rows of `free` that may be written, which with `all or none` are all of them or, when
 * one item has to look again or meets a conflict, none.
 */
const writable = (extent: Extent, says: Says): string =>
  extent === 'each'
    ? ''
    : `
blocked AS MATERIALIZED (
  SELECT FROM ${besideInput(['seen', 's'], ['free', 'f'])}
  WHERE f.ord IS NULL AND s.leased IS NOT TRUE OR i.on_conflict = 'error' AND NOT f.dead${says === 'when' ? '' : ` OR ${IS_REFUSED}`}
),
writable AS MATERIALIZED (SELECT * FROM free WHERE NOT EXISTS (SELECT FROM blocked)),`;

const writableOf = (extent: Extent): string => (extent === 'each' ? 'free' : 'writable');

/** When the new one takes the place of `f`, which waits. A dead letter waits for nothing. */
const REPLACES = `f.dead OR CASE f.on_conflict WHEN 'replace' THEN true
                             WHEN 'earlier' THEN f.due < f.due_at
                             WHEN 'later' THEN f.due > f.due_at END`;

const MAX_WAIT = `(f.extras::jsonb ->> 'maxWait'::text)::float8`;

const GOES_ON = goesOnAsItDid('f.repeat', 'f.extras');

/** When it is due that takes the place of `f`: no later than the longest wait allows, if there is one. */
const DUE_ONCE = `CASE WHEN f.dead THEN f.due ELSE LEAST(f.due, ${wholeMs(plusMs('f.created_at', MAX_WAIT))}) END`;

const DUE: Record<Says, string> = {
  when: DUE_ONCE,
  'how it recurs': `CASE WHEN NOT f.dead AND ${GOES_ON} THEN f.due_at ELSE ${DUE_ONCE} END`,
};

/** A delay of the list that does not say it goes on to recur as it did. */
const REPEAT = `CASE WHEN f.extras::jsonb -> 'repeat'::text IS NULL OR NOT f.dead AND ${GOES_ON} THEN f.repeat
                    ELSE ${repeatFrom(`(f.extras::jsonb -> 'repeat'::text)`, DUE['how it recurs'])} END`;

const CONFLICT: Record<Extent, string> = {
  each: 'f.ord IS NOT NULL',
  'all or none': "i.on_conflict = 'error' AND NOT f.dead",
};

/**
 * The look at keys that were taken when `place` ran. An unleased row is locked, waiting at most for
 * a claim in flight or another caller's transaction; a leased one answers at once.
 * Parameters as in `place`, then: on_conflict[], extras[]. Answers one row per input: `again` means that
 * another session moved the row meanwhile, or with `all or none` that nothing was written because of
 * another item, and the caller has to begin anew with a new statement.
 */
export const scheduleTakenSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  extent: Extent = 'each',
  says: Says = 'when',
): string => `
WITH ${clockOf(tables, lockWait)},
input AS MATERIALIZED (
  SELECT i.*, COALESCE(${instantOrNull('i.at')}, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}) AS due
  FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[],
              $7::text[], $8::text[])
       WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts, on_conflict, extras, ord), clock
),
${looked(tables)},
${freeRows(tables, lockWait, {
  carries: ['payload', 'due', 'max_attempts', 'on_conflict', 'extras'],
  more: [...(says === 'when' ? [] : ['repeat']), ...logged(kept)],
})},${writable(extent, says)}
placed AS (
  UPDATE ${tables.delay} d
  SET payload = f.payload::jsonb, due_at = ${DUE[says]},
      wake_at = GREATEST(${DUE[says]}, ${wholeMs('clock.now')}), max_attempts = ${maximumOrNull('f.max_attempts')},
      created_at = CASE WHEN f.dead OR ${MAX_WAIT} IS NULL THEN clock.now ELSE f.created_at END, epoch = ${nextEpoch('d')}, attempts = 0, leased_until = NULL,
      leased_by = NULL, refused_by = NULL, last_error = NULL, attempt_log = NULL, move_log = NULL, (group_id, headers) = ROW(${extrasOf('f.extras')})${
        says === 'when' ? '' : `,\n      repeat = ${REPEAT}`
      }
  FROM ${writableOf(extent)} f, clock
  WHERE ${isRowOf('f')} AND (${REPLACES})${says === 'when' ? '' : ` AND (${IS_REFUSED}) IS NOT TRUE`}
  RETURNING f.ord, d.id, d.epoch, d.due_at, d.wake_at, f.dead
)${intoHistory(tables, kept, {
  of: 'f',
  from: `${writableOf(extent)} f`,
  where: says === 'when' ? 'f.dead' : `f.dead AND (${IS_REFUSED}) IS NOT TRUE`,
  state: "'discarded'",
  node: 'NULL',
})}
SELECT i.ord::text AS ord,
       CASE ${says === 'when' ? '' : `WHEN ${IS_REFUSED} THEN 'declared'\n            `}WHEN p.dead THEN 'scheduled'
            WHEN p.ord IS NOT NULL THEN 'replaced'
            WHEN f.ord IS NOT NULL AND i.on_conflict <> 'error' THEN 'kept'
            WHEN ${CONFLICT[extent]} THEN 'conflict'
            WHEN s.leased THEN 'running'
            ELSE 'again' END AS verdict,
       COALESCE(p.id, f.id, s.id)::text AS id,
       p.epoch::text AS epoch,
       ${epochMs('COALESCE(p.due_at, f.due_at, s.due_at)')}::text AS due_ms,
       ${epochMs('p.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['placed', 'p'])}, clock
ORDER BY i.ord`;

/**
 * Takes back delays that this very call has inserted: no other caller has seen them, for other branches of the
 * caller wait for the end of the call. So history does not tell of them either. Parameter: ids[].
 */
export const scheduleUndoSql = ({ delay }: Tables): string =>
  `DELETE FROM ${delay} WHERE id = ANY ($1::bigint[])`;

/*
 * A key that runs is to run once more. That cannot stand in the row that runs: a transactional attempt locks it to its
 * end, and no writer waits for a handler. So it stands beside it until the run is over (docs/adr/0054).
 */

const MAX_WAIT_OF_RERUN = `(i.extras::jsonb ->> 'maxWait'::text)::float8`;

/**
 * Keeps calls that met a delay that runs: one for each key, the last. Parameters, one array each, sorted by (name, key):
 * as in `place`, then extras[] and the ids of the delays that run. Answers a row for each, in no order. It waits for calls that write about the same key in a
 * transaction that is open.
 */
export const askRerunSql = (tables: Tables, lockWait: LockWait): string => `
WITH ${clockOf(tables, lockWait)}
INSERT INTO ${tables.rerun} AS r
  (id, name, key, payload, due_at, asked_at, created_at, max_wait_ms, max_attempts, group_id, headers)
SELECT i.id, i.name, i.key, i.payload::jsonb,
       COALESCE(${instantOrNull('i.at')}, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}),
       clock.now, clock.now, ${MAX_WAIT_OF_RERUN}, ${maximumOrNull('i.max_attempts')}, ${extrasOf('i.extras')}
FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[], $7::text[],
            $8::bigint[])
     WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts, extras, id, ord), clock
ORDER BY i.ord
ON CONFLICT (name, key) DO UPDATE
SET id = excluded.id, payload = excluded.payload,
    due_at = LEAST(excluded.due_at, ${wholeMs(plusMs('r.created_at', 'excluded.max_wait_ms'))}),
    asked_at = excluded.asked_at,
    created_at = CASE WHEN excluded.max_wait_ms IS NULL THEN excluded.created_at ELSE r.created_at END,
    max_wait_ms = excluded.max_wait_ms, max_attempts = excluded.max_attempts,
    group_id = excluded.group_id, headers = excluded.headers
RETURNING r.name, r.key, ${epochMs('r.due_at')}::text AS due_ms`;

/** Drops what is kept for keys, but not what another call writes just now. Parameters: names[], keys[]. */
export const dropRerunsSql = ({ rerun }: Tables): string => `
DELETE FROM ${rerun} WHERE ctid = ANY (ARRAY(
  SELECT r.ctid FROM unnest($1::text[], $2::text[]) AS i(name, key), LATERAL (
    SELECT r.ctid FROM ${rerun} r WHERE r.name = i.name AND r.key = i.key FOR UPDATE SKIP LOCKED
  ) r
))`;

/** What is kept: those first whose run is over. Parameter: limit. */
export const rerunsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT r.name, r.key, (NOT r.runs)::text AS is_over
FROM (
  SELECT r.name, r.key, r.due_at, (
    SELECT d.leased_until > clock.now FROM ${tables.delay} d WHERE d.name = r.name AND d.key = r.key LIMIT 1
  ) IS TRUE AS runs
  FROM ${tables.rerun} r, clock
) r
ORDER BY r.runs, r.due_at
LIMIT $1::int`;

/**
 * The row says something newer, if it was scheduled since. A dead letter of that kind may have begun before what is kept was
 * committed: its key runs once more, with what the row says.
 */
const IS_NEWER = `f.created_at > w.asked_at`;

const newerOf = (column: string): string =>
  `${column} = CASE WHEN ${IS_NEWER} THEN d.${column} ELSE w.${column} END`;

/**
 * What is kept for one key becomes its delay, unless it runs. It takes the place of one that waits and is older, as a
 * retry of the run is, and of a dead letter. Parameters: name, key. Answers a row when it is done: with the delay that
 * was written, if one was.
 *
 * One statement: at any moment a key has either what is kept or the delay that was made of it, and each look, as that of
 * `cancel`, sees one of the two. It waits for no lock, but shortly for a call that inserts that key just now.
 */
export const rerunSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables, { waitsMs: INSERT_WAITS_MS_MAX })},
wanted AS MATERIALIZED (
  SELECT r.*, r.ctid AS at FROM ${tables.rerun} r, clock
  WHERE r.name = $1::text AND r.key = $2::text AND clock.lock_timeout IS NOT NULL
  FOR UPDATE OF r SKIP LOCKED
),
seen AS MATERIALIZED (
  SELECT d.id FROM wanted w, LATERAL ${keyedRow(tables, 'w', { columns: 'd.id', lock: 'none' })} d
),
free AS MATERIALIZED (
  SELECT d.* FROM wanted w, clock, LATERAL ${keyedRow(tables, 'w', {
    columns: `d.id, d.epoch, d.due_at, d.created_at, d.attempts, d.name, d.key, d.leased_by, d.last_error,
            d.wake_at = 'infinity' AS dead${logged(kept)
              .map((column) => `, d.${column}`)
              .join('')}`,
    and: '(d.leased_by IS NULL OR d.leased_until <= clock.now)',
    lock: 'at once',
  })} d
),
moved AS (
  UPDATE ${tables.delay} d
  SET ${['payload', 'max_attempts', 'group_id', 'headers'].map(newerOf).join(', ')},
      due_at = w.due_at, wake_at = GREATEST(w.due_at, ${wholeMs('clock.now')}),
      created_at = ${CREATED_AT}, epoch = d.epoch + 1, attempts = 0,
      leased_until = NULL, leased_by = NULL, refused_by = NULL, last_error = NULL, attempt_log = NULL,
      move_log = NULL
  FROM wanted w, free f, clock
  WHERE ${isRowOf('f')} AND (f.dead OR NOT (${IS_NEWER}))
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at
),
placed AS (
  INSERT INTO ${tables.delay} AS d
    (name, key, payload, due_at, wake_at, created_at, max_attempts, group_id, headers)
  SELECT w.name, w.key, w.payload, w.due_at, GREATEST(w.due_at, ${wholeMs('clock.now')}), ${CREATED_AT},
         w.max_attempts, w.group_id, w.headers
  FROM wanted w, clock
  WHERE NOT EXISTS (SELECT FROM seen)
  ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at
),
done AS (
  DELETE FROM ${tables.rerun} r USING wanted w
  WHERE r.ctid = w.at AND (EXISTS (SELECT FROM free) OR EXISTS (SELECT FROM placed))
  RETURNING r.name
)${intoHistory(tables, kept, {
  of: 'f',
  from: 'free f, wanted w',
  where: 'f.dead',
  state: "'discarded'",
  node: 'NULL',
})}
SELECT n.id::text AS id, n.epoch::text AS epoch, n.group_id, ${epochMs('n.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM clock, done LEFT JOIN (SELECT * FROM moved UNION ALL SELECT * FROM placed) n ON true`;

const CREATED_AT = 'CASE WHEN w.max_wait_ms IS NULL THEN clock.now ELSE w.created_at END';

/** Whether anything is kept for the key of the row `d`: a look into an index that is nearly always empty. */
export const hasRerun = ({ rerun }: Tables, of = 'd'): string =>
  `EXISTS (SELECT FROM ${rerun} r WHERE r.name = ${of}.name AND r.key = ${of}.key ${STAYS_APART})`;
