import { type Check, clock, OF_LOAD, type Invariant } from '../invariant.js';

/** A name counts as fenced when one of its effects says so. */
const FENCED = `fenced AS (SELECT DISTINCT name FROM chaos.effect WHERE fenced)`;
const IS_FENCED = `EXISTS (SELECT FROM fenced WHERE fenced.name = l.name)`;

/** Ended by the handler's own success: removed, or moved on to its next time. */
const BY_ITS_HANDLER = `l.ended IN ('completed', 'moved on')`;

const PARENT_IS_FENCED = `EXISTS (SELECT FROM chaos.effect e WHERE e.name = p.name AND e.fenced)`;

/**
 * Part of the second: what a fenced handler schedules is one of its effects, and there exactly if its
 * attempt was committed.
 */
const CHILDREN: readonly Check[] = [
  {
    of: 'delays that a handler scheduled',
    sql: `
        SELECT l.delay_id, l.token,
               CASE WHEN p.delay_id IS NULL THEN format('no row ever held its parent %s', l.parent)
                    WHEN p.claims = 0 THEN format('its parent %s never ran', l.parent)
                    WHEN ${PARENT_IS_FENCED} AND NOT EXISTS (
                      SELECT FROM chaos.effect e
                      WHERE e.token = l.parent AND e.fenced AND e.txid = l.begun_txid)
                    THEN format('its parent %s was not committed together with it', l.parent)
                    WHEN ${PARENT_IS_FENCED} AND (
                      SELECT count(*) FROM chaos.life twin WHERE twin.token = l.token) > 1
                    THEN format('its fenced parent %s scheduled it more than once', l.parent)
               END AS why
        FROM chaos.life l
        LEFT JOIN LATERAL (
          SELECT min(delay_id) AS delay_id, min(name) AS name, sum(claims) AS claims
          FROM chaos.life WHERE token = l.parent
        ) p ON true
        WHERE l.parent IS NOT NULL`,
  },
  {
    of: 'committed attempts that had another delay to schedule',
    // Names of which some did: \`left\` may mean something else to the others.
    sql: `
        SELECT p.delay_id, p.token,
               CASE WHEN NOT EXISTS (SELECT FROM chaos.life l WHERE l.parent = p.token)
               THEN 'it ended well, and what it had to schedule is not there' END AS why
        FROM chaos.life p
        WHERE p.remaining > 0 AND p.ended IN ('completed', 'moved on')
          AND p.name IN (SELECT parent.name FROM chaos.life child
                         JOIN chaos.life parent ON parent.token = child.parent)`,
  },
];

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
    ...CHILDREN,
  ],
};
