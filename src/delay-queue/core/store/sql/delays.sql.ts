import type { LiveState } from '../../api/delay.js';
import type { HistoryKept } from '../../config/options.js';
import {
  epochMs,
  extendedMs,
  nextEpoch,
  plusMs,
  type Tables,
  wakeSql,
  wholeEpochMs,
  wholeMs,
} from '../../database/tables.js';
import {
  andLogged,
  asDate,
  asJson,
  asNumber,
  asParsed,
  asText,
  EXTRA_COLUMNS,
  EXTRAS_AND_LOGS,
  extrasFrom,
  historyExtras,
  type RowOf,
  selected,
} from '../rows/columns.js';
import { instantOrNull, msOrNull } from '../rows/delay-rows.js';
import { readWait } from '../rows/logs.js';
import {
  besideInput,
  clock,
  lockingClock,
  hasIdIn,
  liveNames,
  type LockWait,
  STAYS_APART,
} from './fragments/clock.js';
import { freeRows, keyedRow, looked, Targets } from './fragments/target-rows.js';
import { goesOnAsItDid, goingOn, repeatFrom } from './fragments/repeat.js';
import {
  ATTEMPTS_ANEW,
  BEGINS_ANEW,
  isLeased,
  RELEASED,
  stateAt,
} from './fragments/state-and-error.js';
import { endedAttempt, intoHistory, movedTo } from './history.sql.js';
import { hasRerun } from './schedule.sql.js';
import { fullLimits, waitsFor } from './stats.sql.js';

/**
 * Removes delays, and reruns of their keys, also while a key runs. Parameters: those of the input,
 * and id and epoch of the calling attempt, if any: an attempt does not cancel itself. One row per
 * input: `cancelled`, `running`, `absent`, or `again` when the row changed under the look; and
 * whether a rerun was removed.
 * @param by SQL for who asked for it, if the call said so, as in the statements below
 */
export const cancelSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  of: Targets = Targets.CALLS,
  by?: string,
): string => `
WITH ${lockingClock(tables, lockWait)},
${of.input()},
${looked(tables, of, of.named().columns)},${rerunsOfInput(tables, of)}
${freeRows(tables, lockWait, {
  of,
  more: historyExtras(kept),
  onlyIf: NOT_OTHERS,
  expiredOnlyIf: of.isNotOwn(),
})},
dropped AS (
  DELETE FROM ${tables.rerun} WHERE ctid = ANY (ARRAY(
    SELECT r.at FROM reruns r LEFT JOIN seen s USING (ord) LEFT JOIN free f USING (ord)
    WHERE r.at IS NOT NULL AND (s.ord IS NULL OR s.leased OR f.ord IS NOT NULL)
  ))
),
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE ${hasIdIn('f')} RETURNING f.*
)${intoHistory(tables, kept, {
  of: 'g',
  from: 'gone g',
  state: "CASE WHEN g.dead THEN 'discarded' ELSE 'cancelled' END",
  by,
})}
SELECT i.ord::text AS ord,
       CASE WHEN r.ord IS NOT NULL AND r.at IS NULL THEN 'again'
            WHEN g.ord IS NOT NULL THEN 'cancelled'
            WHEN s.leased THEN 'running'
            WHEN s.ord IS NULL AND r.ord IS NOT NULL THEN 'cancelled'
            WHEN s.ord IS NULL THEN 'absent'
            ELSE 'again' END AS verdict,
       ${of.nameAndKey('f')}COALESCE(f.id, s.id, r.id)::text AS id,
       ${epochMs('COALESCE(f.due_at, s.due_at, r.due_at)')}::text AS due_ms, (r.ord IS NOT NULL)::text AS dropped
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['gone', 'g'], ['reruns', 'r'])}
ORDER BY i.ord`;

/** Condition: no other call is writing a rerun of this key. */
const NOT_OTHERS = 'i.ord <> ALL (ARRAY(SELECT r.ord FROM reruns r WHERE r.at IS NULL))';

/**
 * CTE `reruns`: those of the keys of `input`, with nothing but `ord` where another call locks it.
 * Usually none is stored, and no key is looked up.
 */
const rerunsOfInput = ({ rerun }: Tables, of: Targets): string => `
reruns AS MATERIALIZED (
  SELECT n.ord, m.* FROM ${of.named().by} n, LATERAL (
    SELECT r.ctid AS at FROM ${rerun} r WHERE r.name = n.name AND r.key = n.key ${STAYS_APART}
  ) k LEFT JOIN LATERAL (
    SELECT r.ctid AS at, r.id, r.due_at FROM ${rerun} r WHERE r.ctid = k.at FOR UPDATE SKIP LOCKED
  ) m ON true
  WHERE (SELECT EXISTS (SELECT FROM ${rerun}))
),`;

/**
 * Removes the delays of (name, key) that no attempt and no other call holds and that have no rerun:
 * most cancels, in half the time of {@link cancelSql}. Parameters: names[], keys[]. One row per
 * delay removed.
 */
export const cancelWaitingSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
gone AS (
  DELETE FROM ${tables.delay} WHERE id = ANY (ARRAY(
    SELECT d.id
    FROM unnest($1::text[], $2::text[]) AS i(name, key), LATERAL ${keyedRow(tables, 'i', {
      columns: 'd.id',
      and: `NOT ${isLeased('d')} AND NOT ${hasRerun(tables)}`,
      lock: 'at once',
    })} d
  ))
  RETURNING id, name, key, due_at, wake_at, created_at, epoch, attempts, last_error${andLogged(kept)}
)${intoHistory(tables, kept, {
  of: 'g',
  from: 'gone g',
  state: "CASE WHEN g.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END",
  node: 'NULL',
})}
SELECT id::text AS id, name, key, ${wholeEpochMs('due_at')}::text AS due_ms FROM gone`;

/** Delay `d`; needs the CTE `clock`. */
export const found = ({ rerun }: Pick<Tables, 'rerun'>) => ({
  id: asText('d.id::text'),
  name: asText('d.name'),
  key: asText('d.key'),
  payload: asText('d.payload::text'),
  state: asText<LiveState>(stateAt('clock.now')),
  dueAt: asDate(epochMs('d.due_at')),
  /** Null: a dead letter. */
  wakeAt: asDate<Date | null>(`CASE WHEN d.wake_at < 'infinity' THEN ${epochMs(wakeSql('d'))} END`),
  attempts: asNumber('d.attempts'),
  maxAttempts: asNumber<number | null>('d.max_attempts'),
  lastError: asText<string | null>('d.last_error'),
  createdAt: asDate(epochMs('d.created_at')),
  repeat: asJson('d.repeat'),
  ...EXTRAS_AND_LOGS,
  /** When its key is due once more, after this run. */
  rerunAt: asDate<Date | null>(
    `(SELECT ${epochMs('r.due_at')} FROM ${rerun} r WHERE r.name = d.name AND r.key = d.key)`,
  ),
});

/** A live delay, as callers get it but for payload and repeat, which are JSON texts. */
export type FoundRow = RowOf<ReturnType<typeof found>>;

/** Whether a statement reads payloads; a role may lack the right to. */
export type PayloadRead = 'read' | 'unread';

/** Columns of a delay that {@link listSql} needs, beside its payload. */
const LISTED =
  'id, name, key, due_at, wake_at, leased_until, leased_by, attempts, max_attempts, last_error, created_at, repeat, ' +
  Object.values(EXTRAS_AND_LOGS)
    .map(({ name }) => name)
    .join(', ');

/** The same, with what it waits for. */
export const listedColumns = (tables: Tables, payload: PayloadRead) => ({
  ...found(tables),
  /** Null: not read. */
  payload: asText<string | null>(payload === 'read' ? 'd.payload::text' : 'NULL::text', 'payload'),
  /** Null: a dead letter. */
  waitsFor: asParsed(waitsFor(tables), readWait),
});

export type ListedRow = RowOf<ReturnType<typeof listedColumns>>;

/** The live delay of (name, key), dead letters included. Parameters: name, key. */
export const findSql = ({ delay, rerun, now }: Tables): string => `
WITH ${clock({ now })}
SELECT ${selected(found({ rerun }))}
FROM ${delay} d, clock
WHERE d.name = $1::text AND d.key = $2::text`;

/**
 * Live delays, dead letters included, by id. Parameters: the id to start behind, limit, alive_ms;
 * then the filter's.
 */
export const listSql = (tables: Tables, filter: string, payload: PayloadRead = 'read'): string => `
WITH ${clock(tables)},
${liveNames(tables, '$3')},
page AS MATERIALIZED (
  SELECT ${payload === 'read' ? 'd.*' : LISTED} FROM ${tables.delay} d
  WHERE d.id > $1::bigint AND ${filter}
  ORDER BY d.id
  LIMIT $2::int
),
${fullLimits(tables, 'page')}
SELECT ${selected(listedColumns(tables, payload))}
FROM page d, clock
ORDER BY d.id`;

/** Only their ids. Parameters: the id to start behind, limit; then the filter's. */
export const idsSql = ({ delay, now }: Tables, filter: string): string => `
WITH ${clock({ now })}
SELECT d.id::text AS id
FROM ${delay} d
WHERE d.id > $1::bigint AND ${filter}
ORDER BY d.id
LIMIT $2::int`;

/** How many there are. Parameters: the filter's. */
export const countSql = ({ delay, now }: Tables, filter: string): string => `
WITH ${clock({ now })}
SELECT pg_catalog.count(*)::text AS count
FROM ${delay} d
WHERE ${filter}`;

/** The same for each state, counted up to a limit. Parameters: limit; then the filter's. */
export const countByStateSql = ({ delay, now }: Tables, filter: string): string => `
WITH ${clock({ now })},
matched AS MATERIALIZED (
  SELECT ${stateAt('clock.now')} AS state FROM ${delay} d, clock WHERE ${filter} LIMIT $1::int
)
SELECT m.state, pg_catalog.count(*)::text AS count FROM matched m GROUP BY m.state`;

/**
 * A handler reschedules itself: its row moves on in place, and the attempt ends in history.
 * Parameters: id, epoch, node, payload, after_ms, at, extend_ms, max_attempts, lateness_ms, extras;
 * null payload, max_attempts and extras stay as they are. Without a payload `created_at` stays: the
 * row is not newer than a rerun stored in the meantime.
 *
 * What locks the row of a plain attempt, above all its renewal, releases it soon, and the statement
 * waits. A transactional handler that calls in another transaction, or a plain one that has moved
 * the row in an open one, would wait for itself: it gets no row, and answers `running`.
 */
export const moveOnSql = (tables: Tables, kept: HistoryKept, lockWait: LockWait): string => `
WITH ${lockingClock(tables, lockWait)},
own AS MATERIALIZED (
  SELECT d.*,
         COALESCE($6::timestamptz, ${wholeMs(plusMs('clock.now', '$5::float8'))},
                  ${extendedMs('d.due_at', '$7::float8')}) AS due
  FROM ${tables.delay} d, clock
  WHERE d.id = $1::bigint AND d.epoch = $2::bigint AND d.leased_by = $3::text
  FOR UPDATE OF d ${lockWait === 'at once' ? 'SKIP LOCKED' : ''}
),
moved AS (
  UPDATE ${tables.delay} d
  SET payload = COALESCE($4::text::jsonb, d.payload), due_at = own.due,
      wake_at = GREATEST(own.due, ${wholeMs('clock.now')}),
      max_attempts = COALESCE($8::int, d.max_attempts), created_at = CASE WHEN $4::text IS NULL THEN d.created_at ELSE clock.now END,
      ${BEGINS_ANEW},
      ${extrasFrom('$10')
        .map((value, n) => {
          const column = EXTRA_COLUMNS[n];
          return `${column} = CASE WHEN $10::text IS NULL THEN d.${column} ELSE ${value} END,`;
        })
        .join('\n      ')}
      repeat = CASE WHEN $10::jsonb -> 'repeat'::text IS NULL THEN d.repeat
                    WHEN ${goesOnAsItDid('own.repeat', '$10')} THEN ${goingOn('d.repeat', "($10::jsonb -> 'repeat'::text)")}
                    ELSE ${repeatFrom(`($10::jsonb -> 'repeat'::text)`, 'own.due')} END
  FROM own, clock
  WHERE d.id = own.id
  RETURNING d.id, d.group_id, d.epoch, d.due_at, d.wake_at
)${intoHistory(tables, kept, {
  of: 'own',
  from: 'own JOIN moved USING (id)',
  state: "'superseded'",
  latenessMs: '$9::float8',
  attemptLog: endedAttempt('own', "'superseded'"),
})}${kept === 'nothing' ? ', unused AS (SELECT $9::float8)' : ''}
SELECT m.id::text AS id, m.group_id, m.epoch::text AS epoch, ${epochMs('m.due_at')}::text AS due_ms,
       ${epochMs('m.wake_at')}::text AS wake_ms, ${epochMs('clock.now')}::text AS now_ms
FROM moved m, clock`;

const TO = [
  ['after_ms', 'float8'],
  ['at', 'timestamptz'],
  ['extend_ms', 'float8'],
] as const;

/**
 * Moves delays. Parameters, one array each: those of the input, after_ms, at, extend_ms (one of
 * them is set); for a call's list also its own attempts, which are left out.
 */
export const rescheduleSql = (
  tables: Tables,
  lockWait: LockWait,
  of: Targets = Targets.CALLS,
  by?: string,
): string => `
WITH ${lockingClock(tables, lockWait)},
${of.input(TO)},
${looked(tables, of)},
${freeRows(tables, lockWait, {
  of,
  carries: TO.map(([column]) => column),
  expiredOnlyIf: of.attempts === 'one' ? 'true' : of.isNotOwn(TO),
})},
target AS MATERIALIZED (
  SELECT f.id, f.ord,
         COALESCE(${instantOrNull('f.at')}, ${wholeMs(plusMs('clock.now', msOrNull('f.after_ms')))},
                  ${extendedMs('f.due_at', 'f.extend_ms')}) AS due
  FROM free f, clock
  WHERE NOT f.dead
),
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = t.due, wake_at = GREATEST(t.due, ${wholeMs('clock.now')}), ${ATTEMPTS_ANEW}, last_error = NULL,
      move_log = ${movedTo('t.due', 'reschedule', by)}
  FROM target t, clock
  WHERE ${hasIdIn('t')}
  RETURNING t.ord, d.id, d.group_id, d.epoch, d.due_at, d.wake_at
)${answerOfMoved('rescheduled', of.nameAndKey('f'))}`;

/**
 * Makes waiting delays due now; attempts and error stay. Parameters: those of the input, and ids
 * and epochs of the calling attempts. With `catchUp: 'none'` the due time becomes now even if it
 * was earlier, because a late occurrence would be missed.
 */
export const runNowSql = (tables: Tables, lockWait: LockWait, of: Targets, by?: string): string => `
WITH ${lockingClock(tables, lockWait)},
${of.input()},
${looked(tables, of)},
${freeRows(tables, lockWait, { of, expiredOnlyIf: of.isNotOwn() })},
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = ${DUE},
      wake_at = ${wholeMs('clock.now')},
      epoch = ${nextEpoch('d')}, ${RELEASED},
      move_log = ${movedTo(DUE, 'runNow', by)}
  FROM free f, clock
  WHERE ${hasIdIn('f')} AND NOT f.dead
  RETURNING f.ord, d.id, d.name, d.key, d.group_id, d.epoch, d.due_at, d.wake_at, d.last_error IS NOT NULL AS failed
)${answerOfMoved('due', 'm.failed::text AS failed, m.name, m.key, ')}`;

/** One row per input; a dead letter is `absent`, and `again` is a row that changed under the look. */
const answerOfMoved = (verdict: string, columns: string): string => `
SELECT i.ord::text AS ord,
       CASE WHEN m.ord IS NOT NULL THEN '${verdict}'
            WHEN f.dead THEN 'absent'
            WHEN s.leased THEN 'running'
            WHEN s.ord IS NULL THEN 'absent'
            ELSE 'again' END AS verdict,
       ${columns}COALESCE(m.id, s.id)::text AS id, m.group_id, m.epoch::text AS epoch,
       ${epochMs('COALESCE(m.due_at, s.due_at)')}::text AS due_ms, ${epochMs('m.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['moved', 'm'])}, clock
ORDER BY i.ord`;

const DUE = `CASE WHEN d.repeat ->> 'catchUp'::text = 'none' THEN ${wholeMs('clock.now')}
                    ELSE LEAST(d.due_at, ${wholeMs('clock.now')}) END`;

/*
 * Statements for dead letters. Parameters: those of the input. One row per dead letter: no attempt
 * holds one, so none has to be looked at again.
 */

const deadRows = (tables: Tables, lockWait: LockWait, of: Targets, more: string[] = []): string =>
  freeRows(tables, lockWait, { of, more, onlyIf: `d.wake_at = 'infinity'` });

/** Makes them due now, and resets their attempts. */
export const retryDeadSql = (
  tables: Tables,
  lockWait: LockWait,
  of: Targets,
  by?: string,
): string => `
WITH ${lockingClock(tables, lockWait)},
${of.input()},
${deadRows(tables, lockWait, of)},
retried AS (
  UPDATE ${tables.delay} d
  SET due_at = ${wholeMs('clock.now')}, wake_at = ${wholeMs('clock.now')}, ${ATTEMPTS_ANEW},
      move_log = ${movedTo(wholeMs('clock.now'), 'retryDead', by)}
  FROM free f, clock
  WHERE ${hasIdIn('f')}
  RETURNING f.ord, d.id, d.name, d.key, d.group_id, d.epoch, d.due_at, d.wake_at
)
SELECT r.ord::text AS ord, 'retried' AS verdict, r.id::text AS id, r.name, r.key, r.group_id, 'true' AS failed, r.epoch::text AS epoch,
       ${epochMs('r.due_at')}::text AS due_ms, ${epochMs('r.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM retried r, clock`;

export const discardDeadSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  of: Targets,
  by?: string,
): string => `
WITH ${lockingClock(tables, lockWait)},
${of.input()},
${deadRows(tables, lockWait, of, historyExtras(kept))},
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE ${hasIdIn('f')} RETURNING f.*
)${intoHistory(tables, kept, { of: 'g', from: 'gone g', state: "'discarded'", by })}
SELECT g.ord::text AS ord, 'discarded' AS verdict, g.id::text AS id, g.name, g.key, NULL AS epoch,
       ${epochMs('g.due_at')}::text AS due_ms, NULL AS wake_ms, ${epochMs('clock.now')}::text AS now_ms
FROM gone g, clock`;
