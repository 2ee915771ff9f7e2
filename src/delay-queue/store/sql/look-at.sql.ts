import { CLOCK, epochMs, wakeOf, type Tables } from '../schema.js';

/**
 * The committed state of rows that a batch did not get; a row that is missing is gone. Parameters:
 * ids[]. `wake_ms` is null for a dead letter.
 */
export const lookAtSql = ({ delay }: Tables): string => `
WITH ${CLOCK}
SELECT d.id::float8 AS id, d.epoch, d.name, d.attempts, d.max_attempts, d.leased_by,
       d.last_error IS NOT NULL AS failed,
       CASE WHEN d.wake_at < 'infinity' THEN ${epochMs(wakeOf('d'))} END AS wake_ms,
       ${epochMs('clock.now')} AS now_ms
FROM ${delay} d, clock
WHERE d.id = ANY ($1::bigint[])`;
