import { clock } from '../parts/clock.js';
import { wrongWith } from '../../tables/row-rules.js';
import { epochMs, wakeOf, type Tables } from '../../tables/schema.js';

/**
 * The committed state of rows that a batch did not get; a row that is missing is gone. Parameters:
 * ids[]. `wake_ms` is null for a dead letter. `is_odd`: it is live, and cannot be read.
 */
export const lookAtSql = ({ delay, now }: Tables): string => `
WITH ${clock({ now })}
SELECT d.id::text AS id, d.epoch::text AS epoch, d.name, d.attempts::text AS attempts,
       d.max_attempts::text AS max_attempts, d.leased_by, d.group_id, d.repeat::text AS repeat, ${epochMs('d.due_at')}::text AS due_ms, (d.last_error IS NOT NULL)::text AS failed,
       (d.wake_at < 'infinity' AND ${wrongWith('d')} IS NOT NULL)::text AS is_odd,
       CASE WHEN d.wake_at < 'infinity' THEN ${epochMs(wakeOf('d'))} END::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM ${delay} d, clock
WHERE d.id = ANY ($1::bigint[])`;
