import { clock, type Invariant } from '../invariant.js';

/** `extendBy` may leave fractions of a millisecond, which a Date drops. */
const atThatTime = (step: string): string =>
  `abs(extract(epoch FROM ${step}.due_at - c.due_at)) < 0.001`;

export const toldAndDone: Invariant = {
  number: 4,
  title: 'what was told is done: cancelled means never claimed again, rescheduled not before then',
  checks: [
    {
      of: 'acknowledged cancels',
      sql: `
        SELECT c.id::bigint AS delay_id, g.token,
               CASE WHEN g.delay_id IS NULL THEN
                      format('call %s was told "cancelled", and no cancel removed the row', c.call)
                    WHEN later.revision IS NOT NULL THEN
                      format('call %s was told "cancelled", and afterwards came a %s', c.call, later.kind)
                    WHEN c.times > 1 THEN format('"cancelled" was told %s times', c.times)
               END AS why
        FROM (SELECT *, count(*) OVER (PARTITION BY id) AS times FROM chaos.client
              WHERE verb = 'cancel' AND outcome = 'ok' AND verdict = 'cancelled') c
        LEFT JOIN LATERAL (
          SELECT delay_id, revision, COALESCE(token, was_token) AS token FROM chaos.step
          WHERE delay_id = c.id::bigint AND kind IN ('cancel', 'discard') LIMIT 1
        ) g ON true
        LEFT JOIN LATERAL (
          SELECT revision, kind FROM chaos.step
          WHERE delay_id = g.delay_id AND revision > g.revision ORDER BY revision LIMIT 1
        ) later ON true`,
    },
    {
      of: 'rows that were taken out, moved or rewritten by clients',
      sql: `
        SELECT s.delay_id, COALESCE(s.token, s.was_token) AS token,
               CASE WHEN s.was_live THEN
                 format('a %s at %s, while the lease of %s ran until %s',
                        s.kind, ${clock('s.at')}, s.was_leased_by, ${clock('s.was_leased_until')})
               END AS why
        FROM chaos.step s
        WHERE s.kind IN ('cancel', 'discard', 'replace', 'revive', 'reschedule', 'retry dead')`,
    },
    {
      of: 'acknowledged reschedules',
      sql: `
        SELECT c.id::bigint AS delay_id, s.token,
               CASE WHEN s.delay_id IS NULL THEN
                      format('call %s was told that it is due at %s now, and no reschedule wrote that',
                             c.call, ${clock('c.due_at')})
                    WHEN claim.at < s.due_at THEN
                      format('rescheduled to %s by call %s, and claimed at %s',
                             ${clock('s.due_at')}, c.call, ${clock('claim.at')})
               END AS why
        FROM chaos.client c
        LEFT JOIN LATERAL (
          SELECT * FROM chaos.step r
          WHERE r.delay_id = c.id::bigint AND r.kind IN ('reschedule', 'move on') AND ${atThatTime('r')}
          LIMIT 1
        ) s ON true
        LEFT JOIN LATERAL (
          -- The next thing that happens to the row, if it is a claim.
          SELECT n.at FROM chaos.step n
          WHERE n.delay_id = s.delay_id AND n.revision = s.revision + 1 AND n.kind = 'claim'
        ) claim ON true
        WHERE c.verb = 'reschedule' AND c.outcome = 'ok' AND c.verdict = 'rescheduled'`,
    },
    {
      of: 'acknowledged retries of dead letters',
      sql: `
        SELECT c.id::bigint AS delay_id, NULL::text AS token,
               CASE WHEN NOT EXISTS (
                 SELECT FROM chaos.step s
                 WHERE s.delay_id = c.id::bigint AND s.kind = 'retry dead' AND ${atThatTime('s')})
               THEN format('call %s was told "retried", and nothing was written', c.call) END AS why
        FROM chaos.client c
        WHERE c.verb = 'retryDead' AND c.outcome = 'ok' AND c.verdict = 'retried'`,
    },
  ],
};
