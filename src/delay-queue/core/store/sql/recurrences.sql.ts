import type { HistoryKept } from '../../config/options.js';
import { epochMs, nextEpoch, type Tables, wakeSql, wholeMs } from '../../database/tables.js';
import { andLogged, asJson, asNumber, asText, type RowOf, selected } from '../rows/columns.js';
import { instantOrNull, maximumOrNull, msOrNull, type Wake } from '../rows/delay-rows.js';
import { clock, expectFew, hasIdIn, nodesNow } from './fragments/clock.js';
import { endedAttempt, intoHistory, movedTo, skippedTo } from './history.sql.js';
import { asSaid, isDeclared, repeatFrom } from './fragments/repeat.js';
import { ATTEMPTS_ANEW, isLeased, ROW_THAT_ENDS } from './fragments/state-and-error.js';
import { fencedRow, keyedRow } from './fragments/target-rows.js';

/** How long it waits for a key being inserted. Not long: the declaration is repeated. */
const INSERT_WAITS_MS_MAX = 10;

/** Condition: the rule of the row is another than that of its declaration `i`. */
const RECURS_OTHERWISE = `${asSaid('d.repeat')} IS DISTINCT FROM ${asSaid('i.repeat')}`;

/** Condition: another deployment's row. A row of none belongs to whichever declares it. */
const IS_FOREIGN = `COALESCE(d.repeat ->> 'deployment'::text <> COALESCE(i.repeat ->> 'deployment'::text, ''), false)`;

/** Condition: the row differs from its declaration `i`. */
const IS_OTHER = `${RECURS_OTHERWISE} OR d.payload <> i.payload OR d.wake_at = 'infinity'`;

/**
 * CTE `newer`: the names of nodes of this deployment that declared later than this one. What this
 * node could not write then would undo theirs. Parameters: the node, and whether this is its first
 * declaration, at `clock.now`.
 */
const newerWords = (
  { node }: Tables,
  { self, isFirst }: { self: string; isFirst: string },
): string => `
newer AS MATERIALIZED (
  SELECT n.names
  FROM ${node} n, ${node} me
  WHERE me.id = ${self} AND NOT ${isFirst} AND n.id <> me.id AND n.declared_at > me.declared_at
    AND n.deployment = me.deployment
)`;

/** Condition: a newer node serves that name. */
const isOutdated = (name: string): string =>
  `EXISTS (SELECT FROM newer WHERE ${name} = ANY (newer.names))`;

/**
 * Makes recurring delays match their declarations, and leaves those alone that do. A delay whose
 * repeat has changed is due when the new repeat says, unless it is due already: no instant that has
 * come is lost.
 *
 * A delay that runs or is locked answers `again`. Parameters, one array each, sorted by (name,
 * key): names, keys, payloads, repeats, first due times; then the node, whether this is its first
 * declaration, its deployment ('': none). One row for each.
 */
export const declareSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables, { waitsMs: INSERT_WAITS_MS_MAX })},
said AS (
  UPDATE ${tables.node} n SET declared_at = ${nodesNow(tables)}, deployment = $8::text FROM clock WHERE n.id = $6::text AND $7::bool
),${newerWords(tables, { self: '$6::text', isFirst: '$7::bool' })},
input AS MATERIALIZED (
  SELECT i.name, i.key, i.payload::jsonb AS payload, i.repeat::jsonb AS repeat, i.first, i.ord,
         ${isOutdated('i.name')} AS outdated
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
       WITH ORDINALITY AS i(name, key, payload, repeat, first, ord)
),
seen AS MATERIALIZED (
  SELECT i.ord, d.* FROM input i, LATERAL ${keyedRow(tables, 'i', {
    columns: `${IS_OTHER} AS other, ${IS_FOREIGN} AS is_foreign`,
    lock: 'none',
  })} d
),
free AS MATERIALIZED (
  SELECT i.ord, i.payload AS new_payload, i.repeat AS new_repeat, i.first, d.*,
         d.dead OR d.recurs_otherwise AND d.due_at > clock.now AS moves
  FROM (SELECT * FROM input WHERE NOT outdated ORDER BY ord) i, clock, LATERAL ${keyedRow(
    tables,
    'i',
    {
      columns: `${ROW_THAT_ENDS}${andLogged('attempts', 'd.')}, ${RECURS_OTHERWISE} AS recurs_otherwise`,
      and: `NOT ${isLeased('d')} AND (${IS_OTHER}) AND NOT ${IS_FOREIGN}`,
      lock: 'at once',
    },
  )} d
),
changed AS (
  UPDATE ${tables.delay} d
  SET payload = f.new_payload, refused_by = NULL,
      repeat = CASE WHEN f.recurs_otherwise OR f.moves
                    THEN ${repeatFrom('f.new_repeat', 'CASE WHEN f.moves THEN f.first ELSE d.due_at END')}
                    ELSE d.repeat END,
      due_at = CASE WHEN f.moves THEN f.first ELSE d.due_at END,
      wake_at = CASE WHEN f.moves THEN GREATEST(f.first, ${wholeMs('clock.now')}) ELSE d.wake_at END,
      epoch = CASE WHEN f.moves THEN ${nextEpoch('d')} ELSE d.epoch END,
      attempts = CASE WHEN f.moves THEN 0 ELSE d.attempts END,
      last_error = CASE WHEN f.moves THEN NULL ELSE d.last_error END,
      attempt_log = CASE WHEN f.moves THEN NULL ELSE d.attempt_log END,
      move_log = CASE WHEN f.dead THEN NULL WHEN f.moves THEN ${movedTo('f.first', 'declaration')} ELSE d.move_log END,
      max_attempts = CASE WHEN f.recurs_otherwise THEN NULL ELSE d.max_attempts END
  FROM free f, clock
  WHERE ${hasIdIn('f')}
  RETURNING f.ord
),
added AS (
  INSERT INTO ${tables.delay} (name, key, payload, due_at, wake_at, created_at, repeat)
  SELECT i.name, i.key, i.payload, i.first, GREATEST(i.first, ${wholeMs('clock.now')}), clock.now,
         ${repeatFrom('i.repeat', 'i.first')}
  FROM input i, clock
  WHERE clock.lock_timeout IS NOT NULL AND NOT i.outdated AND NOT EXISTS (SELECT FROM seen s WHERE s.ord = i.ord)
  ORDER BY i.ord
  ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING
  RETURNING name, key
)${intoHistory(tables, kept, {
  of: 'f',
  from: 'free f',
  where: 'f.dead',
  state: "'discarded'",
  node: 'NULL',
})}
SELECT CASE WHEN a.key IS NOT NULL THEN 'added'
            WHEN c.ord IS NOT NULL THEN 'changed'
            WHEN s.is_foreign THEN 'foreign'
            WHEN NOT s.other THEN 'stands'
            WHEN i.outdated THEN 'outdated'
            ELSE 'again' END AS verdict
FROM input i LEFT JOIN seen s USING (ord) LEFT JOIN changed c USING (ord) LEFT JOIN added a USING (name, key)
ORDER BY i.ord`;

/** The clock. */
export const nowSql = ({ now }: Tables): string => `SELECT ${epochMs(now)}::text AS now_ms`;

/** The `state` of an occurrence without a history row. */
export const NO_LINE = '';

/**
 * Ends occurrences of recurring delays: each moves on to its next instant, with its attempts reset,
 * or leaves the table after the last one. Parameters, one array each: ids, epochs, due (of the
 * occurrence), next (absent: none), states, lateness_ms (absent: no attempt ended it), errors ('':
 * none), max_attempts (absent: the node holds it; if not, it is due with no attempt left); the
 * node; how many instants each leaves out, and the first; what its repeat stores from then on.
 * Fenced by epoch and owner; answers the rows that it moved or removed.
 */
export const recurSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT i.id, i.epoch, i.due_at, ${instantOrNull('i.next_at')} AS next_at, i.state, ${msOrNull('i.lateness_ms')} AS lateness_ms,
         NULLIF(i.error, '') AS error, ${maximumOrNull('i.max_attempts')} AS max_attempts, i.skipped, i.skipped_from, i.more::jsonb AS more
  FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::float8[],
              $7::text[], $8::int[], $10::int[], $11::timestamptz[], $12::text[])
       AS i(id, epoch, due_at, next_at, state, lateness_ms, error, max_attempts, skipped, skipped_from, more)
),
ending AS MATERIALIZED (
  SELECT d.*, i.due_at, i.next_at, i.state, i.lateness_ms, i.skipped, i.skipped_from, i.more, i.max_attempts IS NOT NULL AS is_lost,
         CASE WHEN i.max_attempts IS NULL THEN i.error ELSE COALESCE(d.last_error, i.error) END AS error
  FROM input i, clock, LATERAL ${fencedRow(tables, 'i', {
    columns: `d.ctid, d.id, d.epoch, d.created_at, d.attempts, d.name, d.key, d.leased_by, d.last_error${andLogged(kept, 'd.')}`,
    and: `CASE WHEN i.max_attempts IS NULL THEN d.leased_by = $9::text
             ELSE ${wakeSql('d')} <= clock.now AND d.attempts >= i.max_attempts END`,
  })} d
  WHERE ${expectFew('i')}
),
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = e.next_at, wake_at = GREATEST(e.next_at, ${wholeMs('clock.now')}), ${ATTEMPTS_ANEW},
      last_error = NULL, attempt_log = NULL,
      move_log = CASE WHEN e.skipped > 0 THEN ${skippedTo('e.next_at', 'e')} END,
      repeat = d.repeat || e.more
  FROM ending e, clock
  WHERE d.ctid = e.ctid AND e.next_at IS NOT NULL
  RETURNING e.*, d.epoch AS next_epoch, d.group_id AS in_group, d.headers AS with_headers, d.wake_at
),
gone AS (
  DELETE FROM ${tables.delay} d USING ending e WHERE d.ctid = e.ctid AND e.next_at IS NULL
  RETURNING e.*, d.epoch + 1 AS next_epoch, d.group_id AS in_group, d.headers AS with_headers, NULL::timestamptz AS wake_at
),
written AS (SELECT * FROM moved UNION ALL SELECT * FROM gone)${intoHistory(tables, kept, {
  of: 'e',
  from: 'written e',
  where: `e.state <> '${NO_LINE}'`,
  state: 'e.state',
  latenessMs: 'e.lateness_ms',
  error: 'e.error',
  attemptLog: `CASE WHEN e.is_lost THEN e.attempt_log ELSE ${ENDED} END`,
})}
SELECT ${selected(RECURRED)} FROM written d`;

export const RECURRED = {
  id: asNumber('d.id'),
  epoch: asNumber('d.next_epoch'),
  name: asText('d.name'),
  key: asText<string | null>('d.key'),
  group: asText<string | null>('d.in_group'),
  /** JSON text; null: none. */
  headers: asJson('d.with_headers'),
  /** Attempts and error of the occurrence that has ended. */
  attempts: asNumber('d.attempts'),
  error: asText<string | null>('d.error'),
  /** Null: it has ended. */
  wake_ms: asNumber<number | null>(epochMs('d.wake_at')),
};

export type RecurredRow = RowOf<typeof RECURRED>;

/** The delay's next wake; undefined: it has ended. */
export const recurredWake = (row: RecurredRow): Wake | undefined => {
  const { id, epoch, name, group, wake_ms: wakeMs } = row;
  return wakeMs === null
    ? undefined
    : { id, epoch, name, group, wakeMs, stalled: false, failed: false };
};

const ENDED = endedAttempt(
  'e',
  "CASE WHEN e.state = 'completed' THEN 'completed' ELSE 'failed' END",
  'e.error',
);

/**
 * Removes declared delays of this deployment that are no longer declared; waits for no lock.
 * Parameters: names whose declarations are known; names and keys of the declared delays; the node,
 * whether it has not declared yet, its deployment ('': none). Answers the delays removed, and how
 * many are left because they run or are locked.
 */
export const withdrawSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},${newerWords(tables, { self: '$4::text', isFirst: '$5::bool' })},
declared AS MATERIALIZED (SELECT * FROM unnest($2::text[], $3::text[]) AS k(name, key)),
undeclared AS MATERIALIZED (
  SELECT d.id FROM ${tables.delay} d
  WHERE d.repeat IS NOT NULL AND d.name = ANY ($1::text[]) AND ${isDeclared('d.repeat')}
    AND COALESCE(d.repeat ->> 'deployment'::text, '') = $6::text AND NOT ${isOutdated('d.name')} AND ((d.name, d.key) IN (SELECT k.name, k.key FROM declared k)) IS NOT TRUE
),
free AS MATERIALIZED (
  SELECT d.id
  FROM (SELECT id FROM undeclared ORDER BY id) u,
       LATERAL (SELECT d.id FROM ${tables.delay} d
                WHERE d.id = u.id AND d.repeat IS NOT NULL AND ${isDeclared('d.repeat')} AND NOT ${isLeased('d')} FOR UPDATE SKIP LOCKED) d
),
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE ${hasIdIn('f')} RETURNING d.*
)${intoHistory(tables, kept, {
  of: 'g',
  from: 'gone g',
  state: "CASE WHEN g.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END",
  node: 'NULL',
})}
SELECT ((SELECT pg_catalog.count(*) FROM undeclared) - (SELECT pg_catalog.count(*) FROM gone))::text AS count,
       (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_array(g.name, g.key, g.repeat) ORDER BY g.id), '[]') FROM gone g)::text AS gone`;
