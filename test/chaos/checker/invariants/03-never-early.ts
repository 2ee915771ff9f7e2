import { clock, type Invariant } from '../invariant.js';

/**
 * Claims that took something over from a process whose lock was held when they wrote. One may be: the lock was between two
 * sessions of that process when it looked.
 */
const FROM_THE_LIVING = `(
  SELECT count(DISTINCT l.txid) FROM chaos.step l
  WHERE l.kind = 'claim' AND l.was_live AND l.is_taken_over AND l.lock_lives)`;

export const neverEarly: Invariant = {
  number: 3,
  title:
    'no claim before due, before its wake, or while another lease runs, unless its process is gone',
  checks: [
    {
      of: 'claims',
      // The trigger's clock is read after the claim's, so a claim that is early here was earlier still.
      sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.was_dead THEN format('%s claimed a dead letter', s.leased_by)
                    WHEN s.at < s.due_at THEN
                      format('%s claimed it at %s, and it was due at %s',
                             s.leased_by, ${clock('s.at')}, ${clock('s.due_at')})
                    WHEN s.at < s.was_wake_at THEN
                      format('%s claimed it at %s, and its wake was at %s',
                             s.leased_by, ${clock('s.at')}, ${clock('s.was_wake_at')})
                    WHEN s.was_live AND NOT s.is_taken_over THEN
                      format('%s claimed it at %s, while the lease of %s ran until %s',
                             s.leased_by, ${clock('s.at')}, s.was_leased_by, ${clock('s.was_leased_until')})
                    WHEN s.was_live AND s.lock_lives AND ${FROM_THE_LIVING} > 1 THEN
                      format('%s took it over at %s, and the process of %s held its lock',
                             s.leased_by, ${clock('s.at')}, s.was_leased_by)
               END AS why
        FROM chaos.step s WHERE s.kind = 'claim'`,
    },
  ],
};
