import type { Invariant } from '../invariant.js';

/**
 * "Ends" includes what a client or a handler did to it on purpose (cancelled, replaced, moved on);
 * whether anybody asked for that is looked at in the ninth.
 */
const howItEnded = (ended: string): string => `
  CASE ${ended} WHEN 'waiting' THEN 'it never ended: the row still waits'
                WHEN 'vanished' THEN 'its row went without a line in history: nobody knows how it ended'
  END`;

export const everyDelayEnds: Invariant = {
  number: 1,
  title: 'every acknowledged, uncancelled delay ends completed or dead',
  checks: [
    {
      of: 'acknowledged schedules',
      harm: 'lost',
      sql: `
        SELECT l.delay_id, c.token,
               CASE WHEN l.delay_id IS NULL
                    THEN format('call %s was told "%s", id %s, and no row ever held it',
                                c.call, c.verdict, c.id)
                    ELSE ${howItEnded('l.ended')} END AS why
        FROM chaos.client c
        LEFT JOIN LATERAL (
          SELECT delay_id, ended FROM chaos.life
          WHERE token = c.token ORDER BY delay_id DESC, life DESC LIMIT 1
        ) l ON true
        WHERE c.verb = 'schedule' AND c.outcome = 'ok' AND c.verdict IN ('scheduled', 'replaced')`,
    },
    {
      of: 'other delays: of handlers, of the shop, of calls without an answer',
      harm: 'lost',
      sql: `
        SELECT l.delay_id, l.token, ${howItEnded('l.ended')} AS why
        FROM chaos.life l
        WHERE NOT EXISTS (SELECT FROM chaos.client c
                          WHERE c.token = l.token AND c.verb = 'schedule' AND c.outcome = 'ok')`,
    },
  ],
};
