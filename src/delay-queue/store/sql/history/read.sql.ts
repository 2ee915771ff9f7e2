import { anyNameOf } from '../parts/filter.js';
import { epochMs, type Tables } from '../../tables/schema.js';

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

/** The same for a key of any name. Parameters: key, limit. */
export const historyOfKeySql = ({ history }: Tables): string => `
SELECT ${COLUMNS}
FROM ${history} d
WHERE d.key = $1::text AND ${anyNameOf(history)}
ORDER BY d.ended_at DESC, d.epoch DESC
LIMIT $2::int`;
