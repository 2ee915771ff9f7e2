import { clock, type Invariant } from '../invariant.js';

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
                    WHEN s.was_live AND NOT s.may_be_orphaned THEN
                      format('%s claimed it at %s, while the lease of %s ran until %s',
                             s.leased_by, ${clock('s.at')}, s.was_leased_by, ${clock('s.was_leased_until')})
               END AS why
        FROM chaos.step s WHERE s.kind = 'claim'`,
    },
  ],
};
