/** Keeps these locks apart from others whose key is a hash of a text. */
const SEED = 7_461_302;

/**
 * A listening node says that it lives by a session's advisory lock on its name: the lock goes with
 * the process, however that ends, and the others need not wait for its heartbeats to stay away.
 */
const lockKey = (node: string): string => `hashtextextended(${node}, ${SEED})`;

/**
 * Takes the lock of a node on this session. Parameters: node. Answers `held`: false while a session
 * of its past that nobody knows to be dead still has it.
 */
export const presenceSql = (): string =>
  `SELECT pg_try_advisory_lock(${lockKey('$1::text')})::text AS held`;

/** SQL that is true while some session holds the lock of that node. */
export const isPresent = (node: string): string => `EXISTS (
  SELECT FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${lockKey(node)})`;

/** A node not heard of for so many loads counts as gone. */
export const LOADS_MISSED_MAX = 3;
