import { clock } from '../parts/clock.js';
import { instantOrNull, keyOrNull, maximumOrNull } from '../../wire/arrays.js';
import { HELD_MAX_MS, type LockWait } from '../parts/lock-wait.js';
import { repeatFrom } from '../parts/repeat.js';
import { presentEpochUs, type Tables, wholeEpochMs } from '../../tables/schema.js';

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
export const extrasOf = (text: string): string =>
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
