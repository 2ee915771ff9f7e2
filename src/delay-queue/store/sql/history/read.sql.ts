import { epochMs, presentEpochUs, type Tables } from '../../tables/schema.js';

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
