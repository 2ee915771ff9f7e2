import type { Invariant } from '../invariant.js';

/**
 * "Ends" includes what a client or a handler did to it on purpose (cancelled, replaced, moved on);
 * whether anybody asked for that is looked at in the ninth, and so is what was acknowledged and
 * never there.
 */
export const everyDelayEnds: Invariant = {
  number: 1,
  title: 'every acknowledged, uncancelled delay ends completed or dead',
  checks: [
    {
      of: 'delays',
      sql: `
        SELECT delay_id, token,
               CASE ended WHEN 'waiting' THEN 'it never ended: the row still waits'
                          WHEN 'vanished' THEN 'its row went without a line in history: nobody knows how it ended'
               END AS why
        FROM chaos.life`,
    },
  ],
};
