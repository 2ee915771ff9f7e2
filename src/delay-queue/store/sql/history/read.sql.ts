import { epochMs, type Tables } from '../../tables/schema.js';

/** What became of the delays of (name, key), newest first. Parameters: name, key, limit. */
export const historySql = ({ history }: Tables): string => `
SELECT h.id::text AS id, h.name, h.key, h.state, ${epochMs('h.due_at')}::text AS due_ms,
       ${epochMs('h.created_at')}::text AS created_ms, ${epochMs('h.ended_at')}::text AS ended_ms,
       h.lateness_ms::numeric::text AS lateness_ms, h.attempts::text AS attempts, h.node, h.error
FROM ${history} h
WHERE h.name = $1::text AND h.key = $2::text
ORDER BY h.ended_at DESC, h.epoch DESC
LIMIT $3::int`;
