import type { Tables } from '../../../database/tables.js';
import { groupNumberSql, spreadSql } from '../../rows/attempt-rows.js';
import { expectMany, nodesNow, STAYS_APART } from './clock.js';

/** Keeps these locks apart from others whose key is a hash of a text. */
const SEED = 7_461_302;

/**
 * A listening node says that it lives by a session's advisory lock on its name: the lock goes with
 * the process, however that ends, and the others need not wait for its heartbeats to stay away.
 */
const lockKey = (node: string): string => `pg_catalog.hashtextextended(${node}, ${SEED})`;

/**
 * Takes the lock of a node, and that of its process, on this session. Parameters: node, the process's lock. Answers
 * `held` and `process_held`: each is false while another session has it, one of its past that is not known to be dead, say.
 */
export const presenceSql = (): string =>
  `SELECT pg_catalog.pg_try_advisory_lock(${lockKey('$1::text')})::text AS held,
          pg_catalog.pg_try_advisory_lock($2::bigint)::text AS process_held`;

/** Gives back the first of them: the node runs nothing more, while its process still ends attempts. Parameters: node. */
export const farewellSql = (): string =>
  `SELECT pg_catalog.pg_advisory_unlock(${lockKey('$1::text')})::text AS freed`;

/** All advisory locks of this database, as numbers. Where nothing asks for them Postgres does not look. */
const HELD_LOCKS = `ARRAY(
  SELECT l.classid::bigint << 32 | l.objid::bigint FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()))`;

/**
 * SQL that is true for a row whose attempt has lost its process: others may take it over before its lease ends, because
 * the attempt's transaction begins with a fence. A plain handler has none, and its row names no lock.
 *
 * @param own lock of the process that asks: its own attempts are never orphaned
 */
export const isOrphaned = (row: string, own: string): string =>
  `(${row}.leased_by IS NOT NULL AND ${row}.lease_lock <> ${own}
    AND NOT (${row}.lease_lock = ANY (${HELD_LOCKS})))`;

/** SQL that is true while some session holds the lock of that node. */
export const isPresent = (node: string): string => `EXISTS (
  SELECT FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${lockKey(node)})`;

/**
 * SQL that is true for a node that lives, as far as the database can tell. An idle node has said until when it may be silent, and
 * its session may be gone: a server that sleeps ends its sessions.
 */
export const lives = (node: string, now: string, withinMs: string): string =>
  `(GREATEST(${node}.seen_at, ${node}.idle_until) > ${now} - ${withinMs} * interval '1 millisecond'
    AND (${node}.idle_until IS NOT NULL OR NOT ${node}.present OR ${isPresent(`${node}.id`)}))`;

/**
 * CTE `live`: the names that each live node serves.
 * @param aliveMs parameter: for how many milliseconds a node counts as alive of which nothing can be told
 */
export const liveNames = (tables: Tables, aliveMs: string): string => `live AS MATERIALIZED (
  SELECT n.names FROM ${tables.node} n, clock
  WHERE ${lives('n', nodesNow(tables), `${aliveMs}::float8`)}
)`;

/** Condition: a live node serves the name of `d`; there is a CTE `live`. */
export const IS_SERVED = 'EXISTS (SELECT FROM live WHERE d.name = ANY (live.names))';

/** A node not heard of for so many loads counts as gone. */
export const LOADS_MISSED_MAX = 3;

/**
 * SQL for the place of a row's name among those that a node serves, as `served.at`: NULL when it does not.
 * Of few names all are looked through; of many there is an index (`ownership.ts`), else it is NULL.
 * To be joined. OFFSET 0, because the planner would otherwise look it up again wherever it stands: beside
 * three other nodes that was a quarter of a sweep (docs/adr/0016).
 */
export const servedName = (row: string, names: string, index: string): string =>
  `LATERAL (SELECT CASE WHEN ${index} IS NULL THEN pg_catalog.array_position(${names}, ${row}.name)
                        ELSE (${index} -> ${row}.name)::int END AS at ${STAYS_APART}) served`;

/** SQL that is true for rows of no group that is left out: those are an array of {@link groupText}. */
export const notLeftOut = (row: string, { leftOut }: Pick<GroupParameters, 'leftOut'>): string =>
  `(${row}.name || ' ' || COALESCE(${row}.group_id, '')) <> ALL (${leftOut})`;

/** Of a statement about groups: what it has parameters for beside the others. */
interface GroupParameters {
  /** Whether the group picks the owner, for each name. */
  byGroup: string;
  leftOut: string;
}

/** SQL that is true for a row whose group picks its owner. */
export const isByGroup = (row: string, { byGroup }: GroupParameters): string =>
  `${row}.group_id IS NOT NULL AND (${byGroup})[served.at]`;

/**
 * SQL that is true for the rows a node looks after: it serves the name, and `spread(id)` picks it
 * among the nodes that do. How many nodes serve each name, and this node's rank among them, are two
 * arrays beside the names.
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
