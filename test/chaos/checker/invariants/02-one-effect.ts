import { clock, OF_LOAD, type Invariant } from '../invariant.js';

/** A name counts as fenced when one of its effects says so. */
const FENCED = `fenced AS (SELECT DISTINCT name FROM chaos.effect WHERE fenced)`;
const IS_FENCED = `EXISTS (SELECT FROM fenced WHERE fenced.name = l.name)`;

/** Ended by the handler's own success: removed, or moved on to its next time. */
const BY_ITS_HANDLER = `l.ended IN ('completed', 'moved on')`;

export const oneEffect: Invariant = {
  number: 2,
  title: 'one committed effect per transactional delay, and no plain one is skipped',
  checks: [
    {
      of: 'fenced delays that ended well',
      // What ends the delay and what it did are one transaction, so they have one id.
      sql: `
        WITH ${FENCED},
        done AS (
          SELECT l.delay_id, l.token, s.was_leased_by, s.was_attempts,
                 count(e.seq) AS effects,
                 bool_and(e.node = s.was_leased_by AND e.attempt = s.was_attempts) AS by_owner,
                 min(e.node) AS node, min(e.attempt) AS attempt
          FROM chaos.life l
          JOIN chaos.step s ON s.delay_id = l.delay_id AND s.revision = l.end_revision
          LEFT JOIN chaos.effect e
            ON e.delay_id = l.delay_id AND e.token = l.token AND e.txid = l.end_txid
          WHERE l.name ${OF_LOAD} AND l.token IS NOT NULL AND ${BY_ITS_HANDLER} AND ${IS_FENCED}
          GROUP BY l.delay_id, l.token, l.life, s.was_leased_by, s.was_attempts
        )
        SELECT delay_id, token,
               CASE WHEN effects = 0 THEN 'it ended well and nothing was done in that transaction'
                    WHEN effects > 1 THEN format('its transaction did it %s times', effects)
                    WHEN NOT by_owner THEN
                      format('done by attempt %s of %s, while attempt %s of %s held the lease',
                             attempt, node, was_attempts, was_leased_by)
               END AS why
        FROM done`,
    },
    {
      of: 'fenced effects',
      sql: `
        SELECT e.delay_id, e.token,
               CASE WHEN l.delay_id IS NULL THEN
                 format('attempt %s of %s committed an effect at %s, and that transaction did not end the delay',
                        e.attempt, e.node, ${clock('e.at')})
               END AS why
        FROM chaos.effect e
        LEFT JOIN chaos.life l ON l.delay_id = e.delay_id AND l.token = e.token
                              AND l.end_txid = e.txid AND ${BY_ITS_HANDLER}
        WHERE e.fenced`,
    },
    {
      of: 'plain delays that ended well',
      // By the very attempt that is said to have ended it, and before that was written.
      sql: `
        WITH ${FENCED}
        SELECT l.delay_id, l.token,
               CASE WHEN NOT EXISTS (
                 SELECT FROM chaos.effect e
                 WHERE e.delay_id = l.delay_id AND e.token = l.token
                   AND e.node = s.was_leased_by AND e.attempt = s.was_attempts AND e.at <= l.ended_at)
               THEN format('%s at %s by attempt %s of %s, which had not done it by then',
                           l.ended, ${clock('l.ended_at')}, s.was_attempts, s.was_leased_by)
               END AS why
        FROM chaos.life l
        JOIN chaos.step s ON s.delay_id = l.delay_id AND s.revision = l.end_revision
        WHERE l.name ${OF_LOAD} AND l.token IS NOT NULL AND ${BY_ITS_HANDLER} AND NOT ${IS_FENCED}`,
    },
    {
      of: 'attempts with plain effects',
      sql: `
        WITH effects AS (
          SELECT delay_id, token, node, attempt, count(*) AS done
          FROM chaos.effect WHERE NOT fenced GROUP BY delay_id, token, node, attempt
        ),
        claims AS (
          SELECT delay_id, token, leased_by AS node, attempts AS attempt, count(*) AS claimed
          FROM chaos.step WHERE kind = 'claim' GROUP BY delay_id, token, leased_by, attempts
        )
        SELECT delay_id, token,
               CASE WHEN done > COALESCE(claimed, 0) THEN
                 format('%s did attempt %s of it %s times and claimed it %s times',
                        node, attempt, done, COALESCE(claimed, 0))
               END AS why
        FROM effects LEFT JOIN claims USING (delay_id, token, node, attempt)`,
    },
  ],
};
