import { epochMs, type Tables } from '../schema.js';

/** What became of the delays of (name, key), newest first. Parameters: name, key, limit. */
export const historySql = ({ history }: Tables): string => `
SELECT h.id::text AS id, h.name, h.key, h.state, ${epochMs('h.due_at')} AS due_ms,
       ${epochMs('h.created_at')} AS created_ms, ${epochMs('h.ended_at')} AS ended_ms,
       h.lateness_ms, h.attempts, h.node, h.error
FROM ${history} h
WHERE h.name = $1::text AND h.key = $2::text
ORDER BY h.ended_at DESC, h.epoch DESC
LIMIT $3::int`;
