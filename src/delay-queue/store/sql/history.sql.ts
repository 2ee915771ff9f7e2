import { epochMs, presentEpochUs, type Tables } from '../../database/tables.js';

/**
 * Deletes the oldest rows of a table, as many as one statement may. Parameters: age_ms, limit. Answers how
 * many. Rows that another session has are that one's to delete.
 *
 * @param by what finds the chosen rows again
 * @param since the instant that counts for a row's age
 * @param order of the index that has the oldest first
 * @param onlyWithoutNewer nothing is deleted while there is a row that is younger
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
 * Deletes the oldest lines of history. Parameters: keep_ms, limit. Answers how many.
 *
 * By ctid, which is safe here because the lines are locked and never updated: a join back to the
 * table may be planned as a read of all of it.
 */
export const pruneSql = ({ history }: Tables): string =>
  deleteOldest(history, { by: 'ctid', since: 'ended_at', order: 'ended_at, id, epoch' });

/**
 * The same for a node that keeps no history, while no other node keeps one either: as long as a line is younger, that
 * one's own pruner has its rule.
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

/** What became of the delays of (name, key), newest first. Parameters: name, key, limit. */
export const historySql = ({ history }: Tables): string => `
SELECT ${COLUMNS}
FROM ${history} d
WHERE d.name = $1::text AND d.key = $2::text
ORDER BY d.ended_at DESC, d.epoch DESC
LIMIT $3::int`;

/**
 * What ended, newest first, behind one line. Parameters: when that ended ('infinity': none), its id and epoch; how many;
 * then the filter's.
 */
export const endedSql = ({ history }: Tables, filter: string): string => `
SELECT ${COLUMNS}, d.epoch::text AS epoch, ${presentEpochUs('d.ended_at')}::text AS ended_us
FROM ${history} d
WHERE (d.ended_at, d.id, d.epoch) < ($1::timestamptz, $2::bigint, $3::bigint) AND ${filter}
ORDER BY d.ended_at DESC, d.id DESC, d.epoch DESC
LIMIT $4::int`;
