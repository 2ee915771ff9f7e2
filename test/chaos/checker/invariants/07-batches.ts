import { SPOILED } from '../../load/payloads.js';
import type { Check } from '../invariant.js';

/** Their handlers run one call at a time: what one claim takes of such a name is one batch. */
const OF_BATCHES = `LIKE 'chaos.batch%'`;

/** Part of the seventh: a batch that fails costs nobody an attempt, and is split once. */
export const BATCHES: readonly Check[] = [
  {
    of: 'delays of batches that were spoiled',
    sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.attempts <> s.was_attempts - 1 OR s.due_at <> s.was_due_at
                      OR s.wake_at > s.at + interval '1 millisecond'
               THEN format('its batch was spoiled: a %s, from %s attempts to %s, which wakes it %s after that',
                           s.kind, s.was_attempts, s.attempts,
                           CASE WHEN s.wake_at = 'infinity' THEN 'infinity'
                                ELSE (s.wake_at - s.at)::text END)
               END AS why
        FROM chaos.step s
        WHERE s.kind IN ('settle', 'bury') AND s.name ${OF_BATCHES}
          AND s.error = 'Error: ${SPOILED}' AND s.was_error IS DISTINCT FROM s.error`,
  },
  {
    of: 'claims of delays that run in batches',
    sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.together > 1 AND s.was_error IS NOT NULL THEN
                      format('claimed together with %s others, after "%s"', s.together - 1, s.was_error)
                    WHEN s.together > 1 AND s.was_leased_by IS NOT NULL THEN
                      format('claimed together with %s others, after %s had left it without a word',
                             s.together - 1, s.was_leased_by)
               END AS why
        FROM (SELECT *, count(*) OVER (PARTITION BY txid, name) AS together
              FROM chaos.step WHERE kind = 'claim' AND name ${OF_BATCHES}) s`,
  },
];
