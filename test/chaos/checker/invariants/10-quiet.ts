import { isPresent } from '../../../../src/delay-queue/core/store/sql/fragments/clock.js';
import { clock, type Invariant } from '../invariant.js';

export const quiet: Invariant = {
  number: 10,
  title: 'after quiet no lease, nothing unfinished, no node that is thought to be there',
  checks: [
    {
      of: 'rows that are left',
      sql: `
        SELECT d.id AS delay_id, d.payload->>'token' AS token,
               CASE WHEN d.leased_by IS NOT NULL THEN
                      format('leased to %s until %s, and nobody is there', d.leased_by, ${clock('d.leased_until')})
                    WHEN d.wake_at < 'infinity' AND d.repeat IS NULL THEN
                      format('%s %s waits until %s', d.name, d.key, ${clock('d.wake_at')})
               END AS why
        FROM delay_queue.delay d`,
    },
    {
      of: 'nodes that left no goodbye',
      // As the loader counts them: by its lock where it had one, by its heartbeats otherwise.
      sql: `
        SELECT NULL::bigint AS delay_id, n.id AS token,
               CASE WHEN ${isPresent('n.id')} THEN 'some session still holds the lock of its presence'
                    WHEN NOT n.present AND n.seen_at > clock_timestamp() - interval '3 seconds' THEN
                      format('its last heartbeat was at %s', ${clock('n.seen_at')})
               END AS why
        FROM delay_queue.node n`,
    },
  ],
};
