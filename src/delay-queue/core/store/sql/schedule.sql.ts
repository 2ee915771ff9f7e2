import type { HistoryKept } from '../../config/options.js';
import {
  epochMs,
  plusMs,
  presentEpochUs,
  type Tables,
  wholeEpochMs,
  wholeMs,
} from '../../database/tables.js';
import {
  andLogged,
  asNumber,
  asText,
  EXTRA_COLUMNS,
  extrasFrom,
  historyExtras,
  selected,
} from '../rows/columns.js';
import { instantOrNull, keyOrNull, maximumOrNull } from '../rows/delay-rows.js';
import {
  besideInput,
  clock,
  lockingClock,
  HELD_MAX_MS,
  hasIdIn,
  type LockWait,
  STAYS_APART,
} from './fragments/clock.js';
import { intoHistory } from './history.sql.js';
import { freeRows, keyedRow, looked } from './fragments/target-rows.js';
import { goesOnAsItDid, goingOn, isDeclared, repeatFrom } from './fragments/repeat.js';
import { BEGINS_ANEW, isLeased, ROW_THAT_ENDS } from './fragments/state-and-error.js';

/**
 * How long a statement for many callers waits for a key that another session is inserting; Postgres
 * has no SKIP LOCKED for that. Longer than a commit takes, so that nodes that meet on a key do not
 * refuse each other, and far shorter than `deadlock_timeout`.
 */
const INSERT_WAITS_MS_MAX = 10;

/** The longest wait for an uncommitted key; undefined where the limit is not ours to set. */
const LIMITS_MS: Record<LockWait, number | undefined> = {
  waits: undefined,
  'a while': HELD_MAX_MS,
  'at once': INSERT_WAITS_MS_MAX,
};

/**
 * Whether a statement also writes the extras, or these and the repeat, from an array of JSON texts,
 * its last parameter. Each column of each row costs time.
 */
export type WrittenColumns = 'usual' | 'all' | 'recurring';

const EXTRA_LIST = EXTRA_COLUMNS.join(', ');

const COLUMNS: Record<WrittenColumns, readonly string[]> = {
  usual: [],
  all: EXTRA_COLUMNS,
  recurring: [...EXTRA_COLUMNS, 'repeat'],
};

/** Their values for the input `i`, due at `d.due`. */
const extraValues = (columns: WrittenColumns): string[] => {
  if (columns === 'usual') return [];
  const values = extrasFrom('i.extras');
  if (columns === 'all') return values;
  return [...values, repeatFrom(`(i.extras::jsonb -> 'repeat'::text)`, 'd.due')];
};

const appended = (items: readonly string[]): string => items.map((item) => `, ${item}`).join('');

const insertInto = ({ delay }: Tables, columns: WrittenColumns): string => `
INSERT INTO ${delay} (name, key, payload, due_at, wake_at, max_attempts, created_at${appended(COLUMNS[columns])})
SELECT i.name, ${keyOrNull('i.key')}, i.payload::jsonb, d.due, GREATEST(d.due, clock.whole),
       ${maximumOrNull('i.max_attempts')}, clock.now${appended(extraValues(columns))}
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
 * RETURNING of the INSERT itself, because a CTE around it costs a tenth of the statement's time,
 * and each text of each row a thirtieth: so `wake_at` is left out, which follows from due time and
 * clock.
 */
const returning = (...more: string[]): string => `
RETURNING ${['id::text AS id', ...more].join(', ')}, ${wholeEpochMs('due_at')}::text AS due_ms,
          (SELECT ${presentEpochUs('now')}::text FROM clock) AS now_us`;

/** The committed row of a key: one index lookup, whatever the statistics. */
const existingRowSql = ({ delay }: Tables, input: string): string =>
  `(SELECT t.id FROM ${delay} t WHERE t.name = ${input}.name AND t.key = ${keyOrNull(`${input}.key`)} LIMIT 1)`;

/**
 * Inserts delays; a key that is taken is left alone and missing from the answer. One with a
 * committed row is not even tried: an INSERT waits in the unique index for a writer of that row,
 * perhaps a handler that rescheduled itself.
 *
 * `at once`, for a statement that is its own transaction, does without ON CONFLICT, which costs 25
 * % per row (speculative insert): a key that is inserted meanwhile fails it with 23505, or with
 * 55P03 where it would have to wait.
 *
 * Parameters, one array each, sorted by (name, key): names, keys, payloads, after_ms (whole; counts
 * where `at` is absent), at, max_attempts. Ids follow that order, which matches keyless rows.
 */
export const scheduleNewSql = (
  tables: Tables,
  lockWait: LockWait,
  columns: WrittenColumns = 'usual',
): string => `
WITH ${clock(tables, { whole: true, waitsMs: LIMITS_MS[lockWait] })}${insertInto(tables, columns)}
WHERE ${existingRowSql(tables, 'i')} IS NULL
ORDER BY i.ord${
  lockWait === 'at once' ? '' : '\nON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING'
}${returning('name', 'key')}`;

/**
 * Inserts all, or none when a key is taken. Fails with 23505 if a key is inserted in the meantime,
 * and with 55P03 if that takes too long. Parameters as for {@link scheduleNewSql}. Omits names and
 * keys, a fifth of the answer.
 */
export const scheduleAllNewSql = (tables: Tables, columns: WrittenColumns = 'usual'): string => `
WITH ${clock(tables, { whole: true, waitsMs: LIMITS_MS['a while'] })}${insertInto(tables, columns)}
WHERE NOT EXISTS (
  SELECT FROM unnest($1::text[], $2::text[]) AS k(name, key) WHERE ${existingRowSql(tables, 'k')} IS NOT NULL
)
ORDER BY i.ord${returning()}`;

/** Inserts delays without a key, which cannot conflict; otherwise as {@link scheduleAllNewSql}. */
export const scheduleKeylessSql = (tables: Tables, columns: WrittenColumns = 'usual'): string => `
WITH ${clock(tables, { whole: true })}${insertInto(tables, columns)}
ORDER BY i.ord${returning()}`;

/** All only if none answers `again` or `conflict`. */
export type Extent = 'each' | 'all or none';

/** Whether calls set the repeat. Most do not, and have a shorter text to plan at each call. */
export type Says = 'when' | 'how it recurs';

/** Condition: code declares the repeat of `f`, and the call sets one. */
const IS_REFUSED = `${isDeclared('f.repeat')} AND f.extras::jsonb -> 'repeat'::text IS NOT NULL`;

/**
 * CTE `writable`: the rows of `free`; with `all or none`, none if one item has to look again or
 * conflicts.
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

const writableName = (extent: Extent): string => (extent === 'each' ? 'free' : 'writable');

/** Condition: the new delay replaces `f`, which waits. A dead letter is always replaced. */
const REPLACES = `f.dead OR CASE f.on_conflict WHEN 'replace' THEN true
                             WHEN 'earlier' THEN f.due < f.due_at
                             WHEN 'later' THEN f.due > f.due_at END`;

const maxWait = (of: string): string => `(${of}.extras::jsonb ->> 'maxWait'::text)::float8`;

const MAX_WAIT = maxWait('f');

const GOES_ON = goesOnAsItDid('f.repeat', 'f.extras');

/** The due time of the delay that replaces `f`, limited by `maxWait` if there is one. */
const DUE_ONCE = `CASE WHEN f.dead THEN f.due ELSE LEAST(f.due, ${wholeMs(plusMs('f.created_at', MAX_WAIT))}) END`;

const DUE: Record<Says, string> = {
  when: DUE_ONCE,
  'how it recurs': `CASE WHEN NOT f.dead AND ${GOES_ON} THEN f.due_at ELSE ${DUE_ONCE} END`,
};

/** A delay of the list without a repeat keeps the one that it has. */
const REPEAT = `CASE WHEN f.extras::jsonb -> 'repeat'::text IS NULL THEN f.repeat
                    WHEN NOT f.dead AND ${GOES_ON} THEN ${goingOn('f.repeat', `((f.extras::jsonb -> 'repeat'::text) - '{from,offset,tz}'::text[])`)}
                    ELSE ${repeatFrom(`(f.extras::jsonb -> 'repeat'::text)`, DUE['how it recurs'])} END`;

const CONFLICT: Record<Extent, string> = {
  each: 'f.ord IS NOT NULL',
  'all or none': "i.on_conflict = 'error' AND NOT f.dead",
};

/**
 * The look at keys that were taken. An unleased row is locked, after a wait for a claim in flight
 * or another caller's transaction; a leased one answers at once. Parameters as in {@link
 * scheduleNewSql}, then: on_conflict[], extras[]. One row per input. `again`: another session moved
 * the row or, with `all or none`, another item prevented all writes.
 */
export const scheduleTakenSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  extent: Extent = 'each',
  says: Says = 'when',
): string => `
WITH ${lockingClock(tables, lockWait)},
input AS MATERIALIZED (
  SELECT i.*, COALESCE(${instantOrNull('i.at')}, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}) AS due
  FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[],
              $7::text[], $8::text[])
       WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts, on_conflict, extras, ord), clock
),
${looked(tables)},
${freeRows(tables, lockWait, {
  carries: ['payload', 'due', 'max_attempts', 'on_conflict', 'extras'],
  more: [...(says === 'when' ? [] : ['repeat']), ...historyExtras(kept)],
})},${writable(extent, says)}
placed AS (
  UPDATE ${tables.delay} d
  SET payload = f.payload::jsonb, due_at = ${DUE[says]},
      wake_at = GREATEST(${DUE[says]}, ${wholeMs('clock.now')}), max_attempts = ${maximumOrNull('f.max_attempts')},
      created_at = CASE WHEN f.dead OR ${MAX_WAIT} IS NULL THEN clock.now ELSE f.created_at END,
      ${BEGINS_ANEW}, (${EXTRA_LIST}) = ROW(${extrasFrom('f.extras').join(', ')})${
        says === 'when' ? '' : `,\n      repeat = ${REPEAT}`
      }
  FROM ${writableName(extent)} f, clock
  WHERE ${hasIdIn('f')} AND (${REPLACES})${says === 'when' ? '' : ` AND (${IS_REFUSED}) IS NOT TRUE`}
  RETURNING f.ord, d.id, d.epoch, d.due_at, d.wake_at, f.dead
)${intoHistory(tables, kept, {
  of: 'f',
  from: `${writableName(extent)} f`,
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
 * Deletes delays that this same call inserted, which no other caller has seen; history omits them
 * too. Parameter: ids[].
 */
export const scheduleUndoSql = ({ delay }: Tables): string =>
  `DELETE FROM ${delay} WHERE id = ANY ($1::bigint[])`;

/*
 * A running key is to run once more. Its row cannot hold that: a transactional attempt locks it
 * until it ends, and no writer waits for a handler. So `rerun` holds it until then (docs/adr/0054).
 */

/**
 * Stores calls that met a running delay: the last of each key. Parameters, one array each, sorted
 * by (name, key): as for {@link scheduleNewSql}, then extras[] and the ids of the running delays. A
 * row for each, unordered. It waits for calls that write to the same key in an open transaction.
 */
export const askRerunSql = (tables: Tables, lockWait: LockWait): string => `
WITH ${lockingClock(tables, lockWait)}
INSERT INTO ${tables.rerun} AS r
  (id, name, key, payload, due_at, asked_at, created_at, max_wait_ms, max_attempts, ${EXTRA_LIST})
SELECT i.id, i.name, i.key, i.payload::jsonb,
       COALESCE(${instantOrNull('i.at')}, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}),
       clock.now, clock.now, ${maxWait('i')}, ${maximumOrNull('i.max_attempts')}, ${extrasFrom('i.extras').join(', ')}
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
    ${EXTRA_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}
RETURNING r.name, r.key, ${epochMs('r.due_at')}::text AS due_ms`;

/** Drops reruns, except those that another call is writing. Parameters: names[], keys[]. */
export const dropRerunsSql = ({ rerun }: Tables): string => `
DELETE FROM ${rerun} WHERE ctid = ANY (ARRAY(
  SELECT r.ctid FROM unnest($1::text[], $2::text[]) AS i(name, key), LATERAL (
    SELECT r.ctid FROM ${rerun} r WHERE r.name = i.name AND r.key = i.key FOR UPDATE SKIP LOCKED
  ) r
))`;

/** The stored reruns, those whose run is over first. Parameter: limit. */
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
 * Condition: the row was scheduled after the rerun. Such a dead letter may have begun before the
 * rerun was committed: its key runs once more, with what the row says.
 */
const IS_NEWER = `f.created_at > w.asked_at`;

const setIfNewer = (column: string): string =>
  `${column} = CASE WHEN ${IS_NEWER} THEN d.${column} ELSE w.${column} END`;

/**
 * Places the rerun of one key into its delay, unless the key runs. It replaces an older delay that
 * waits, such as a retry of the run, and a dead letter. Parameters: name, key. Answers a row when
 * it is done: with the delay that was written, if any.
 *
 * One statement, so that each look sees either the rerun or the delay made of it. It waits for no
 * lock, except shortly for a call that is inserting that key.
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
    columns: `${ROW_THAT_ENDS}${andLogged(kept, 'd.')}`,
    and: `(NOT ${isLeased('d')} OR d.leased_until <= clock.now)`,
    lock: 'at once',
  })} d
),
moved AS (
  UPDATE ${tables.delay} d
  SET ${['payload', 'max_attempts', ...EXTRA_COLUMNS].map(setIfNewer).join(', ')},
      due_at = w.due_at, wake_at = GREATEST(w.due_at, ${wholeMs('clock.now')}),
      created_at = ${CREATED_AT}, ${BEGINS_ANEW}
  FROM wanted w, free f, clock
  WHERE ${hasIdIn('f')} AND (f.dead OR NOT (${IS_NEWER}))
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at
),
placed AS (
  INSERT INTO ${tables.delay} AS d
    (name, key, payload, due_at, wake_at, created_at, max_attempts, ${EXTRA_LIST})
  SELECT w.name, w.key, w.payload, w.due_at, GREATEST(w.due_at, ${wholeMs('clock.now')}), ${CREATED_AT},
         w.max_attempts, ${EXTRA_COLUMNS.map((column) => `w.${column}`).join(', ')}
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
SELECT ${selected(RERUN)}
FROM clock, done LEFT JOIN (SELECT * FROM moved UNION ALL SELECT * FROM placed) n ON true`;

/** The delay that was written. */
export const RERUN = {
  /** Null: none. */
  id: asNumber<number | null>('n.id'),
  epoch: asNumber('n.epoch'),
  group: asText<string | null>('n.group_id'),
  wakeMs: asNumber(epochMs('n.wake_at')),
  nowMs: asNumber(epochMs('clock.now')),
};

const CREATED_AT = 'CASE WHEN w.max_wait_ms IS NULL THEN clock.now ELSE w.created_at END';

/** Condition: a rerun is stored for the key of `d`; nearly always, its index is empty. */
export const hasRerun = ({ rerun }: Tables, of = 'd'): string =>
  `EXISTS (SELECT FROM ${rerun} r WHERE r.name = ${of}.name AND r.key = ${of}.key ${STAYS_APART})`;
