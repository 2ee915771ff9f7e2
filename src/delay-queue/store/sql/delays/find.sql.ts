import { clock } from '../parts/clock.js';
import { epochMs, wakeOf, type Tables } from '../../tables/schema.js';

/** The live delay of (name, key), dead letters included. Parameters: name, key. */
export const findSql = ({ delay }: Tables): string => `
WITH ${clock()}
SELECT d.id::text AS id, d.name, d.key, d.payload::text AS payload,
       CASE WHEN d.wake_at = 'infinity' THEN 'dead'
            WHEN d.leased_until > clock.now THEN 'running'
            WHEN d.attempts > 0 THEN 'retrying'
            ELSE 'scheduled' END AS state,
       ${epochMs('d.due_at')}::text AS due_ms,
       CASE WHEN d.wake_at < 'infinity' THEN ${epochMs(wakeOf('d'))} END::text AS wake_ms,
       d.attempts::text AS attempts, d.max_attempts::text AS max_attempts, d.last_error,
       ${epochMs('d.created_at')}::text AS created_ms
FROM ${delay} d, clock
WHERE d.name = $1::text AND d.key = $2::text`;
