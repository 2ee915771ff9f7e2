import { clock, OF_LOAD, type Invariant } from '../invariant.js';

/** A begun life that has its own token from a call; handlers make theirs from the parent's. */
const SCHEDULES = `verb = 'schedule' AND token IS NOT NULL`;

/** Whether a call explains a write: it was told so, or heard nothing. */
const asked = (verb: string, verdict: string, exact: string): string => `EXISTS (
  SELECT FROM chaos.client c
  WHERE c.verb = '${verb}' AND c.name = s.name AND c.key = s.key
    AND (c.outcome = 'unknown'
         OR c.outcome = 'ok' AND c.verdict = '${verdict}' AND c.id = s.delay_id::text AND ${exact}))`;
const SAME_DUE = `abs(extract(epoch FROM s.due_at - c.due_at)) < 0.001`;

export const acknowledgedSurvives: Invariant = {
  number: 9,
  title: 'acknowledged survives, unknown shows at most once, failed shows nothing',
  checks: [
    {
      of: 'acknowledged schedules',
      sql: `
        SELECT c.id::bigint AS delay_id, c.token,
               CASE WHEN l.delay_id IS NULL THEN
                      format('call %s was told "%s", id %s, and that row never held it', c.call, c.verdict, c.id)
                    WHEN abs(extract(epoch FROM l.due_at - c.due_at)) >= 0.001 THEN
                      format('call %s was told due at %s, and the row says %s',
                             c.call, ${clock('c.due_at')}, ${clock('l.due_at')})
                    WHEN l.begun <> ALL (CASE c.verdict WHEN 'replaced' THEN ARRAY['replace']
                                                        ELSE ARRAY['schedule', 'revive'] END) THEN
                      format('call %s was told "%s", and it was a %s', c.call, c.verdict, l.begun)
               END AS why
        FROM chaos.client c
        LEFT JOIN LATERAL (
          SELECT * FROM chaos.life WHERE token = c.token AND delay_id = c.id::bigint ORDER BY life LIMIT 1
        ) l ON true
        WHERE c.verb = 'schedule' AND c.outcome = 'ok' AND c.verdict IN ('scheduled', 'replaced')`,
    },
    {
      of: 'tokens of calls',
      sql: `
        WITH calls AS (
          SELECT token, min(call) AS call, string_agg(outcome || COALESCE(' ' || verdict, ''), ', ') AS told,
                 -- Whoever asked twice with one token wanted one delay.
                 COALESCE(bool_or(outcome = 'unknown' OR verdict IN ('scheduled', 'replaced')), false)::int AS may
          FROM chaos.client WHERE ${SCHEDULES} GROUP BY token
        ),
        shown AS (
          SELECT token, count(*) AS times, min(delay_id) AS delay_id FROM chaos.life GROUP BY token
        )
        SELECT s.delay_id, calls.token,
               CASE WHEN COALESCE(s.times, 0) > calls.may THEN
                 format('call %s was told "%s", and it was written %s times', calls.call, calls.told, s.times)
               END AS why
        FROM calls LEFT JOIN shown s USING (token)`,
    },
    {
      of: 'delays of the load',
      sql: `
        SELECT l.delay_id, l.token,
               CASE WHEN l.parent IS NULL AND NOT EXISTS (
                 SELECT FROM chaos.client c WHERE c.token = l.token AND c.verb = 'schedule')
               THEN 'nobody asked for it' END AS why
        FROM chaos.life l WHERE l.name ${OF_LOAD}`,
    },
    {
      of: 'cancels, reschedules and retries of the load',
      sql: `
        SELECT s.delay_id, COALESCE(s.token, s.was_token) AS token,
               CASE WHEN NOT CASE
                      WHEN s.kind = 'reschedule' THEN ${asked('reschedule', 'rescheduled', SAME_DUE)}
                      WHEN s.kind = 'retry dead' THEN ${asked('retryDead', 'retried', SAME_DUE)}
                      ELSE ${asked('cancel', 'cancelled', 'true')} END
               THEN format('a %s, and every call for it was told that nothing was done', s.kind) END AS why
        FROM chaos.step s
        WHERE s.kind IN ('cancel', 'discard', 'reschedule', 'retry dead') AND s.name ${OF_LOAD}`,
    },
    {
      of: 'schedules in a transaction of the caller',
      // What was kept or found running left the row of the business alone with its commit.
      sql: `
        SELECT l.delay_id, c.token,
               CASE WHEN b.rows > 1 THEN format('call %s: its business row is there %s times', c.call, b.rows)
                    WHEN l.delay_id IS NOT NULL AND b.rows = 0 THEN
                      format('call %s (%s): the delay is there, the business row is not', c.call, c.outcome)
                    WHEN l.delay_id IS NULL AND b.rows > 0 AND (
                      c.outcome = 'fail' OR c.verdict IN ('scheduled', 'replaced') OR c.key IS NULL) THEN
                      format('call %s (%s): the business row is there, the delay is not', c.call, c.outcome)
                    WHEN c.outcome = 'ok' AND b.rows = 0 THEN
                      format('call %s: COMMIT was acknowledged, and the business row is not there', c.call)
               END AS why
        FROM chaos.client c
        CROSS JOIN LATERAL (
          SELECT count(*) AS rows FROM chaos.business WHERE token = c.token
        ) b
        LEFT JOIN LATERAL (SELECT min(delay_id) AS delay_id FROM chaos.life WHERE token = c.token) l ON true
        WHERE c.in_transaction AND c.verb = 'schedule' AND c.token IS NOT NULL`,
    },
  ],
};
