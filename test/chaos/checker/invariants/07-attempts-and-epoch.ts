import { STEPS, type Write, writesOf } from '../../../support/state-machine.js';
import { SPOILED } from '../../load/payloads.js';
import type { Check, Invariant } from '../invariant.js';

/**
 * Attempts given back belong to a release or a split, which wake the row now, or to a postponement,
 * which moves due along, or to an attempt whose handler was not called, which leaves the last error as it was.
 * A failure gives none back: its pause and its error tell it from the others.
 */
const REFUNDED = `s.attempts = s.was_attempts - 1
                  AND (s.wake_at <= s.at + interval '1 millisecond' OR s.due_at = s.wake_at
                       OR s.error IS NOT DISTINCT FROM s.was_error)`;

const ATTEMPTS: Record<Write['attempts'], string> = {
  none: 's.attempts = 0',
  'one more': 's.attempts = s.was_attempts + 1',
  stay: 's.attempts = s.was_attempts',
  'one less': `(${REFUNDED})`,
  gone: 'false',
};

/** What each kind of write makes of `attempts`, as docs/architecture.md says. */
const RIGHT_ATTEMPTS = `CASE s.kind ${STEPS.map((step) => {
  const ways = new Set(writesOf(step).map(({ attempts }) => ATTEMPTS[attempts]));
  return `WHEN '${step}' THEN ${[...ways].join(' OR ')}`;
}).join('\n')} END`;

/** Only a renewal leaves the epoch as it was. */
const STAYING = STEPS.filter((step) => writesOf(step).some(({ epoch }) => epoch === 'stays'));
const STAYS = `s.kind IN (${STAYING.map((step) => `'${step}'`).join(', ')})`;

/** Their handlers run one call at a time: what one claim takes of such a name is one batch. */
const OF_BATCHES = `LIKE 'chaos.batch%'`;

/** Part of the seventh: a batch that fails costs nobody an attempt, and is split once. */
const BATCHES: readonly Check[] = [
  {
    of: 'delays of batches that were spoiled',
    sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.attempts <> s.was_attempts - 1 OR s.due_at <> s.was_due_at
                      OR s.wake_at > s.at + interval '1 millisecond'
               THEN format('its batch was spoiled: a %s, from %s attempts to %s, which wakes it %s after that',
                           s.kind, s.was_attempts, s.attempts,
                           CASE WHEN s.wake_at = 'infinity' THEN 'infinity'
                                ELSE (s.wake_at - s.at)::text END)
               END AS why
        FROM chaos.step s
        WHERE s.kind IN ('settle', 'bury') AND s.name ${OF_BATCHES}
          AND s.error = 'Error: ${SPOILED}' AND s.was_error IS DISTINCT FROM s.error`,
  },
  {
    of: 'claims of delays that run in batches',
    sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.together > 1 AND s.was_error IS NOT NULL THEN
                      format('claimed together with %s others, after "%s"', s.together - 1, s.was_error)
                    WHEN s.together > 1 AND s.was_leased_by IS NOT NULL THEN
                      format('claimed together with %s others, after %s had left it without a word',
                             s.together - 1, s.was_leased_by)
               END AS why
        FROM (SELECT *, count(*) OVER (PARTITION BY txid, name) AS together
              FROM chaos.step WHERE kind = 'claim' AND name ${OF_BATCHES}) s`,
  },
];

/** Part of the seventh: the log of an ended delay has each of its attempts, and none that no claim began. */
const LOGS: readonly Check[] = [
  {
    of: 'lines of history with their attempts',
    sql: `
        WITH claimed AS (
          SELECT delay_id, array_agg(DISTINCT format('attempt %s on %s', attempts, leased_by)) AS all
          FROM chaos.step WHERE kind = 'claim' GROUP BY delay_id
        ),
        logged AS (
          SELECT h.*, COALESCE(array_agg(format('attempt %s on %s', a.entry ->> 'attempt', a.entry ->> 'node'))
                                 FILTER (WHERE a.entry IS NOT NULL), '{}') AS all,
                 count(DISTINCT a.entry -> 'attempt') AS different
          FROM delay_queue.history h
          LEFT JOIN LATERAL jsonb_array_elements(h.attempt_log) AS a(entry) ON true
          GROUP BY h.ended_at, h.id, h.epoch
        )
        SELECT l.id AS delay_id, s.was_token AS token,
               CASE WHEN NOT l.all <@ COALESCE(c.all, '{}') THEN
                      format('its log has %s, and its claims were %s', l.all, c.all)
                    WHEN l.different < l.attempts THEN
                      format('its log has %s of %s attempts', l.different, l.attempts)
                    WHEN l.state = 'completed'
                      AND ((l.attempt_log -> -1 ->> 'outcome', l.attempt_log -> -1 ->> 'attempt', l.attempt_log -> -1 ->> 'node')
                           IS DISTINCT FROM ('completed', l.attempts::text, l.node)) THEN
                      format('completed, and its log ends with %s', l.attempt_log -> -1)
               END AS why
        FROM logged l
        LEFT JOIN claimed c ON c.delay_id = l.id
        JOIN chaos.step s ON s.delay_id = l.id AND s.was_epoch = l.epoch AND s.kind <> 'renew'`,
  },
];

export const attemptsAndEpoch: Invariant = {
  number: 7,
  title: 'attempts within bounds and counted once, epoch strictly rising',
  checks: [
    {
      of: 'writes of rows',
      sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.op = 'insert' AND (s.epoch <> 0 OR s.attempts <> 0) THEN
                      format('new, at epoch %s with %s attempts', s.epoch, s.attempts)
                    WHEN s.op = 'update' AND ${STAYS} AND s.epoch <> s.was_epoch THEN
                      'a renewal moved the epoch'
                    WHEN s.op = 'update' AND NOT ${STAYS} AND s.epoch <> s.was_epoch + 1 THEN
                      format('a %s took the epoch from %s to %s', s.kind, s.was_epoch, s.epoch)
                    WHEN s.op = 'update' AND NOT COALESCE(${RIGHT_ATTEMPTS}, false) THEN
                      format('a %s took the attempts from %s to %s', s.kind, s.was_attempts, s.attempts)
                    WHEN s.attempts < 0 THEN format('%s attempts', s.attempts)
               END AS why
        FROM chaos.step s WHERE s.op <> 'delete'`,
    },
    {
      of: 'claims',
      sql: `
        SELECT s.delay_id, s.token,
               CASE WHEN s.attempts > COALESCE(s.max_attempts, $2::int) THEN
                 format('attempt %s of at most %s', s.attempts, COALESCE(s.max_attempts, $2::int))
               END AS why
        FROM chaos.step s WHERE s.kind = 'claim'`,
    },
    ...BATCHES,
    ...LOGS,
  ],
};
