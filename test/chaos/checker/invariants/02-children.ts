import type { Check } from '../invariant.js';

const PARENT_IS_FENCED = `EXISTS (SELECT FROM chaos.effect e WHERE e.name = p.name AND e.fenced)`;

/**
 * Part of the second: what a fenced handler schedules is one of its effects, and there exactly if its
 * attempt was committed.
 */
export const CHILDREN: readonly Check[] = [
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
