import { type Tables, wholeMs } from '../../../database/tables.js';
import { groupNumberSql, spreadSql } from '../../rows/attempt-rows.js';

/**
 * How a statement meets a row or a key that another session has in an open transaction: `waits` for
 * as long as it takes; waits `a while` (`HELD_MAX_MS`), then fails with 55P03, in a transaction of
 * our own, because the limit holds for the rest of it; or treats it `at once` as changed, and the
 * caller looks again.
 */
export type LockWait = 'waits' | 'a while' | 'at once';

/** Longer than any transaction should take. Also ends deadlocks that Postgres cannot see. */
export const HELD_MAX_MS = 10_000;

/** What the CTE `clock` has besides `now`. */
interface Clock {
  /**
   * Also `whole`: `now` rounded up to milliseconds. Repeated for each column, the expression would
   * be planned each time, which is most of a small statement's time.
   */
  whole?: boolean;
  /**
   * Also `lock_timeout`, which limits waits for locks until the transaction ends: only in one of
   * our own. The session is not changed, not even a pooler's.
   */
  waitsMs?: number | undefined;
  /** Also `lock_before`, for {@link AS_BEFORE}. */
  restores?: boolean;
}

type Now = Pick<Tables, 'now'>;

/** CTE `clock`: the clock, read once per statement. */
export function clock(
  { now }: Now,
  { whole = false, waitsMs, restores = false }: Clock = {},
): string {
  const limit = [
    ...(restores ? ["pg_catalog.current_setting('lock_timeout') AS lock_before"] : []),
    ...(waitsMs === undefined
      ? []
      : [`pg_catalog.set_config('lock_timeout', '${waitsMs}', true) AS lock_timeout`]),
  ];
  if (!whole) {
    return `clock AS MATERIALIZED (SELECT ${[`${now} AS now`, ...limit].join(', ')})`;
  }
  return `clock AS MATERIALIZED (
  SELECT ${['now', `${wholeMs('now')} AS whole`, ...limit].join(', ')}
  FROM ${now} AS now
)`;
}

/**
 * The clock of an attempt's last statement. A caller that waited behind the claim may hold the row,
 * and ask next for what the handler has changed: the attempt gives way before Postgres finds the
 * deadlock and chooses one of the two. A wait for the whole table has no such limit.
 */
export const GIVES_WAY: Clock = { waitsMs: 10, restores: true };

/** SQL that takes the limit back, once the rows are locked: a table that grows is locked for a moment. */
export const AS_BEFORE =
  "pg_catalog.set_config('lock_timeout', (SELECT c.lock_before FROM clock c), true)";

/** SQL, true; read before the first row is locked, and by then the limit is set. */
export const IS_LIMITED = '(SELECT c.lock_timeout FROM clock c) IS NOT NULL';

/** CTE `clock` of a statement with that lock wait. */
export const lockingClock = (tables: Now, lockWait: LockWait): string =>
  clock(tables, { waitsMs: lockWait === 'a while' ? HELD_MAX_MS : undefined });

/**
 * SQL for now, for what nodes report of themselves; needs the CTE `clock`. Even in tests it is the
 * database's clock: other nodes, which know of no test, judge whether a node lives.
 */
export const nodesNow = ({ isTested }: Pick<Tables, 'isTested'>): string =>
  isTested ? 'pg_catalog.clock_timestamp()' : 'clock.now';

/** SQL for an instant that a node reported of itself, moved to this clock. */
export const saidAt = (instant: string, { isTested }: Pick<Tables, 'isTested'>): string =>
  isTested ? `${instant} + (clock.now - pg_catalog.clock_timestamp())` : instant;

/*
 * Expressions for the planner alone, which keeps plans made for a table of a few rows, and may
 * compare each row with each when there are millions (ADR 0017). Each looks as if it could be
 * removed; `test/integration/plans.spec.ts` and `kept-plans.spec.ts` fail without most.
 */

/**
 * True for each row of `of`. The planner expects it for one in 200, and so fetches each found row
 * by its ctid; for thousands it would rather read the table.
 */
export const expectFew = (of: string): string => `${of}.id % 1::bigint = 0`;

/**
 * Condition in an UPDATE or DELETE: `d` is the row with the id of `of`. An equality could become a
 * join that reads the whole table.
 */
export const hasIdIn = (of: string): string => `d.id = ANY (ARRAY[${of}.id])`;

/**
 * The result of each item of `input`. A FULL JOIN is hashed or merged, and never compares each row
 * with each.
 */
export const besideInput = (...ctes: [cte: string, alias: string][]): string =>
  ['input i', ...ctes.map(([cte, alias]) => `FULL JOIN ${cte} ${alias} USING (ord)`)].join(' ');

/** Keeps a sub-select apart from the outer query. */
export const STAYS_APART = 'OFFSET 0';

/**
 * Hides a condition's selectivity: the planner expects a bare `=` to keep one row in 200, and then
 * reads and sorts the whole range instead of stopping at the LIMIT.
 */
export const expectMany = (condition: string): string => `COALESCE(${condition}, false)`;

/** Keeps these locks apart from other locks whose key is the hash of a text. */
const SEED = 7_461_302;

/**
 * The lock by which a listening node shows that it lives, held by its session. It ends with the
 * process, however that ends, so other nodes need not wait for missing heartbeats.
 */
const lockKey = (node: string): string => `pg_catalog.hashtextextended(${node}, ${SEED})`;

/**
 * Takes the locks of a node and of its process on this session. Parameters: node, the process's
 * lock. Each answers false while another session has it, such as an earlier one of the node.
 */
export const presenceSql = (): string =>
  `SELECT pg_catalog.pg_try_advisory_lock(${lockKey('$1::text')})::text AS held,
          pg_catalog.pg_try_advisory_lock($2::bigint)::text AS process_held`;

/** Releases the node's lock, while its process may still end attempts. Parameter: node. */
export const farewellSql = (): string =>
  `SELECT pg_catalog.pg_advisory_unlock(${lockKey('$1::text')})::text AS freed`;

/** All advisory locks of this database, as numbers; read only if a row needs them. */
const HELD_LOCKS = `ARRAY(
  SELECT l.classid::bigint << 32 | l.objid::bigint FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()))`;

/**
 * SQL, true for a row whose attempt has lost its process: its transaction ends with a fence, so
 * others may take it over before its lease ends. A plain handler's row names no lock.
 * @param own lock of the calling process, whose attempts are never orphaned
 */
export const isOrphaned = (row: string, own: string): string =>
  `(${row}.leased_by IS NOT NULL AND ${row}.lease_lock <> ${own}
    AND NOT (${row}.lease_lock = ANY (${HELD_LOCKS})))`;

/** SQL, true while a session holds that node's lock. */
export const isPresent = (node: string): string => `EXISTS (
  SELECT FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${lockKey(node)})`;

/**
 * SQL, true for a live node: a silent one is for `withinMs` (`alive_ms` elsewhere). An idle node
 * has recorded how long it may be silent, and its session may be gone: a suspended server ends its
 * sessions.
 */
export const lives = (node: string, now: string, withinMs: string): string =>
  `(GREATEST(${node}.seen_at, ${node}.idle_until) > ${now} - ${withinMs} * interval '1 millisecond'
    AND (${node}.idle_until IS NOT NULL OR NOT ${node}.present OR ${isPresent(`${node}.id`)}))`;

/** CTE `live`: the names that each live node serves. @param aliveMs SQL, see {@link lives} */
export const liveNames = (tables: Tables, aliveMs: string): string => `live AS MATERIALIZED (
  SELECT n.names FROM ${tables.node} n, clock
  WHERE ${lives('n', nodesNow(tables), `${aliveMs}::float8`)}
)`;

/** Condition: a live node serves the name of `d`; needs the CTE `live`. */
export const IS_SERVED = 'EXISTS (SELECT FROM live WHERE d.name = ANY (live.names))';

/** A node that is silent for so many loads counts as gone. */
export const LOADS_MISSED_MAX = 3;

/**
 * SQL for the position of a row's name in the names that a node serves, as `served.at`; NULL when
 * it is not served. For many names there is an `index` (`nameIndex`). OFFSET 0, because the planner
 * would otherwise repeat the lookup wherever it is used: a quarter of a scan (docs/adr/0006).
 */
export const servedName = (row: string, names: string, index: string): string =>
  `LATERAL (SELECT CASE WHEN ${index} IS NULL THEN pg_catalog.array_position(${names}, ${row}.name)
                        ELSE (${index} -> ${row}.name)::int END AS at ${STAYS_APART}) served`;

/** SQL, true for rows whose group is not skipped; `leftOut` is an array of {@link groupText}. */
export const notLeftOut = (row: string, { leftOut }: Pick<GroupParameters, 'leftOut'>): string =>
  `(${row}.name || ' ' || COALESCE(${row}.group_id, '')) <> ALL (${leftOut})`;

/** Further parameters of a statement about groups. */
interface GroupParameters {
  /** For each name, whether the group picks the owner. */
  byGroup: string;
  leftOut: string;
}

/** SQL, true for a row whose group picks its owner. */
export const isByGroup = (row: string, { byGroup }: GroupParameters): string =>
  `${row}.group_id IS NOT NULL AND (${byGroup})[served.at]`;

/**
 * SQL, true for rows of a node's share: it serves the name, and `spread(id)` picks it among the
 * nodes that do. `counts` has how many nodes serve each name, `ranks` this node's place among them.
 */
export const ownShare = (
  row: string,
  counts: string,
  ranks: string,
  groups?: GroupParameters,
): string => {
  const number =
    groups === undefined
      ? `${row}.id`
      : `CASE WHEN ${isByGroup(row, groups)} THEN ${groupNumberSql(`${row}.group_id`)} ELSE ${row}.id END`;
  return expectMany(
    `${spreadSql(number)} % (${counts})[served.at]::bigint = (${ranks})[served.at]`,
  );
};
