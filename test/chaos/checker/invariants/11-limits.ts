import { GROUP_MAX, LIMITED, NAME_MAX, RATE_MAX, RATE_PER_MS, RATED } from '../../load/limits.js';
import { clock, type Check, type Invariant } from '../invariant.js';

/**
 * From a claim to the write that ends its epoch, or until its lease was over. Before that a renewal may
 * have moved the end of the lease: the write that ends the epoch says what it was at last.
 */
const HELD = `held AS MATERIALIZED (
  SELECT c.delay_id, c.token, c.group_id, c.revision, c.at AS from_at,
         LEAST(e.at, COALESCE(e.was_leased_until, l.leased_until)) AS to_at
  FROM chaos.step c
  LEFT JOIN LATERAL (
    SELECT n.at, n.was_leased_until FROM chaos.step n
    WHERE n.delay_id = c.delay_id AND n.revision > c.revision AND n.kind <> 'renew'
    ORDER BY n.revision LIMIT 1
  ) e ON true
  LEFT JOIN LATERAL (
    SELECT n.leased_until FROM chaos.step n
    WHERE n.delay_id = c.delay_id AND n.revision >= c.revision ORDER BY n.revision DESC LIMIT 1
  ) l ON true
  WHERE c.kind = 'claim' AND c.name = '${LIMITED}')`;

/** A claim is noted a little after it has looked at the clock, and some later than others. */
const NOTED_WITHIN = `interval '200 milliseconds'`;

/** A pause is noted as its COMMIT begins, and holds when that is on the disk; a claim may be on its way then. */
const COMMITTED_WITHIN = `interval '1 second'`;

/** @param same what beside the name a limit counts together */
const concurrency = (what: string, max: number, same: string): Check => ({
  of: `claims under the limit of ${what}`,
  // Whoever claims has the limit's lock and notes it later than he counts: what he saw to be over is over here.
  sql: `
    WITH ${HELD}
    SELECT h.delay_id, h.token,
           CASE WHEN o.others >= ${max} THEN
             format('claimed at %s beside %s others of ${what}, of at most ${max}', ${clock('h.from_at')}, o.others)
           END AS why
    FROM held h, LATERAL (
      SELECT count(*) AS others FROM held o
      WHERE (o.from_at, o.delay_id, o.revision) < (h.from_at, h.delay_id, h.revision)
        AND o.to_at > h.from_at ${same}
    ) o`,
});

export const limits: Invariant = {
  number: 11,
  title: 'limits hold on all nodes together, and what is paused is not claimed',
  checks: [
    concurrency('the name', NAME_MAX, ''),
    concurrency('the group', GROUP_MAX, 'AND o.group_id = h.group_id'),
    {
      of: 'claims under the rate',
      sql: `
        WITH claims AS (
          SELECT delay_id, token, at,
                 lag(at, ${RATE_MAX}) OVER (ORDER BY at, delay_id, revision) AS before
          FROM chaos.step WHERE kind = 'claim' AND name = '${RATED}'
        )
        SELECT delay_id, token,
               CASE WHEN at - before < interval '${RATE_PER_MS} milliseconds' - ${NOTED_WITHIN} THEN
                 format('the ${RATE_MAX + 1}. claim within %s', at - before)
               END AS why
        FROM claims`,
    },
    {
      of: 'claims beside pauses',
      // A pause ends as its end is noted, or before: no claim that it let begin is noted earlier.
      sql: `
        WITH spans AS (
          SELECT name, group_id, at + ${COMMITTED_WITHIN} AS from_at,
                 LEAST(until, lead(at) OVER (PARTITION BY name, group_id ORDER BY seq)) AS to_at, until
          FROM chaos.pause
        )
        SELECT s.delay_id, s.token,
               CASE WHEN p.name IS NOT NULL THEN
                 format('claimed at %s, and "%s" is paused from %s to %s', ${clock('s.at')}, p.group_id,
                        ${clock('p.from_at')}, ${clock('p.to_at')})
               END AS why
        FROM chaos.step s
        LEFT JOIN LATERAL (
          SELECT * FROM spans p
          WHERE p.name = s.name AND p.group_id IN ('', s.group_id) AND p.until IS NOT NULL
            AND s.at > p.from_at AND s.at < p.to_at
          LIMIT 1
        ) p ON true
        WHERE s.kind = 'claim' AND s.name = '${LIMITED}'`,
    },
  ],
};
