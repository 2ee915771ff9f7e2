import { epochMs, presentEpochUs, type Tables } from '../../database/tables.js';

/**
 * Deletes the oldest rows of a table, except those that another session locks. Parameters: age_ms,
 * limit. Answers how many.
 *
 * @param by the column that finds the chosen rows again
 * @param since the instant that a row's age counts from
 * @param order of the index that has the oldest first
 * @param onlyWithoutNewer deletes nothing while a younger row exists
 */
export const deleteOldest = (
  table: string,
  {
    by,
    since,
    order,
    onlyWithoutNewer = false,
  }: { by: string; since: string; order: string; onlyWithoutNewer?: boolean },
): string => {
  const before = `(SELECT pg_catalog.clock_timestamp() - $1::float8 * interval '1 millisecond')`;
  return `
WITH deleted AS (
  DELETE FROM ${table}
  WHERE ${by} = ANY (ARRAY(
    SELECT ${by}
    FROM ${table}
    WHERE ${since} < ${before}${
      onlyWithoutNewer
        ? `
      AND NOT (SELECT EXISTS (SELECT FROM ${table} WHERE ${since} >= ${before}))`
        : ''
    }
    ORDER BY ${order}
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED))
  RETURNING id
)
SELECT pg_catalog.count(*)::text AS count FROM deleted`;
};

/**
 * Deletes the oldest history rows. Parameters: keep_ms, limit. Answers how many.
 *
 * By ctid, which is safe for rows that are locked and never updated: a join back to the table may
 * be planned as a read of all of it.
 */
export const pruneSql = ({ history }: Tables): string =>
  deleteOldest(history, { by: 'ctid', since: 'ended_at', order: 'ended_at, id, epoch' });

/**
 * The same for a node without history, while no row is younger: a younger row comes from a node
 * that keeps history, and prunes it by its own rule.
 */
export const pruneAbandonedSql = ({ history }: Tables): string =>
  deleteOldest(history, {
    by: 'ctid',
    since: 'ended_at',
    order: 'ended_at, id, epoch',
    onlyWithoutNewer: true,
  });

const COLUMNS = `d.id::text AS id, d.name, d.key, d.state, ${epochMs('d.due_at')}::text AS due_ms,
       ${epochMs('d.created_at')}::text AS created_ms, ${epochMs('d.ended_at')}::text AS ended_ms,
       d.lateness_ms::numeric::text AS lateness_ms, d.attempts::text AS attempts, d.node, d.error,
       d.attempt_log::text AS attempt_log,
       d.group_id, d.headers::text AS headers, d.move_log::text AS move_log`;

/** How the delays of (name, key) ended, newest first. Parameters: name, key, limit. */
export const historySql = ({ history }: Tables): string => `
SELECT ${COLUMNS}
FROM ${history} d
WHERE d.name = $1::text AND d.key = $2::text
ORDER BY d.ended_at DESC, d.epoch DESC
LIMIT $3::int`;

/**
 * Ended delays, newest first. Parameters: ended_at ('infinity': the newest), id and epoch of the
 * row to start behind; limit; then the filter's.
 */
export const endedSql = ({ history }: Tables, filter: string): string => `
SELECT ${COLUMNS}, d.epoch::text AS epoch, ${presentEpochUs('d.ended_at')}::text AS ended_us
FROM ${history} d
WHERE (d.ended_at, d.id, d.epoch) < ($1::timestamptz, $2::bigint, $3::bigint) AND ${filter}
ORDER BY d.ended_at DESC, d.id DESC, d.epoch DESC
LIMIT $4::int`;
