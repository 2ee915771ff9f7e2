import {
  findsDead,
  type Step,
  STEPS,
  type Write,
  writesOf,
} from '../../../support/state-machine.js';
import { clock, type Invariant } from '../invariant.js';

/** Nothing but the lease has changed. */
const SAME_TIME = `s.due_at = s.was_due_at AND s.wake_at = s.was_wake_at`;
const SAME_TOKEN = `s.token IS NOT DISTINCT FROM s.was_token`;
const BY_CLIENT = `NOT s.by_engine`;
const WAKES_WHEN_DUE = `s.wake_at >= s.due_at`;
/** Whoever ran it had no say any more. */
const LEASE_OVER = `NOT s.was_live`;

/** What must be true of a step beside what docs/architecture.md says of it. */
const MORE: Record<Step, string> = {
  schedule: WAKES_WHEN_DUE,
  replace: WAKES_WHEN_DUE,
  revive: `${WAKES_WHEN_DUE} AND s.created_at > s.was_created_at`,
  reschedule: `${WAKES_WHEN_DUE} AND ${SAME_TOKEN}`,
  'retry dead': `s.wake_at = s.due_at AND ${SAME_TOKEN}`,
  claim: `s.session = left('delay-queue ' || s.leased_by, 63) AND ${SAME_TIME} AND ${SAME_TOKEN}`,
  renew: `s.by_owner AND s.leased_until >= s.was_leased_until AND ${SAME_TIME} AND ${SAME_TOKEN}`,
  settle: `s.by_owner AND ${SAME_TOKEN}
           AND (s.due_at = s.was_due_at OR s.due_at = s.wake_at AND s.attempts < s.was_attempts)`,
  bury: `s.by_engine AND s.due_at = s.was_due_at AND ${SAME_TOKEN}
         AND (COALESCE(s.by_owner, false) OR ${LEASE_OVER})`,
  'move on': `s.ended_node = s.was_leased_by AND ${WAKES_WHEN_DUE}`,
  // A fenced one by the session of its transaction.
  complete: `s.ended_node = s.was_leased_by AND (s.by_owner OR ${BY_CLIENT})`,
  cancel: 'true',
  discard: 'true',
};

/**
 * What docs/architecture.md says of a step, beside epoch and attempts, which the seventh looks at, and
 * live leases under a client's write, the fourth.
 */
function isInDocument(step: Step): string {
  const [{ by, needs, lease, steps }] = writesOf(step) as [Write];
  return [
    by === 'caller' ? BY_CLIENT : 'true',
    `s.was_dead = ${findsDead(step)}`,
    needs === 'held' && step !== 'bury' ? 's.was_leased_by IS NOT NULL' : 'true',
    lease === 'gone' ? 'true' : `s.leased_by IS ${lease === 'taken' ? 'NOT NULL' : 'NULL'}`,
    steps[step] === null ? 's.ends IS NULL' : 's.ends = 1',
  ].join(' AND ');
}

const allowed = STEPS.map(
  (step) => `WHEN '${step}' THEN ${isInDocument(step)} AND ${MORE[step]}`,
).join('\n');

const state = (was: string): string => `
  CASE WHEN s.${was}wake_at = 'infinity' THEN 'dead'
       WHEN s.${was}leased_until > s.at THEN format('running at %s', s.${was}leased_by)
       WHEN s.${was}attempts > 0 THEN 'retrying' ELSE 'scheduled' END`;

export const transitions: Invariant = {
  number: 8,
  title: 'only the transitions of docs/architecture.md, and what is over stays over',
  checks: [
    {
      of: 'transitions',
      sql: `
        SELECT s.delay_id, COALESCE(s.token, s.was_token) AS token,
               CASE WHEN s.kind = 'vanish' THEN 'the row went without a line in history'
                    WHEN NOT COALESCE(CASE s.kind ${allowed} END, false) THEN
                      format('a %s that is not allowed: from %s to %s, by the session "%s" at %s',
                             s.kind,
                             CASE WHEN s.op = 'insert' THEN 'nothing' ELSE ${state('was_')} END,
                             CASE WHEN s.op = 'delete' THEN 'nothing' ELSE ${state('')} END,
                             s.session, ${clock('s.at')})
               END AS why
        FROM chaos.step s`,
    },
    {
      of: 'rows',
      // A write that went past the trigger, or a row that lives on after its end, breaks the chain.
      sql: `
        SELECT s.delay_id, COALESCE(s.token, s.was_token) AS token,
               CASE WHEN s.revision = 1 AND s.op <> 'insert' THEN 'its first write is missing'
                    WHEN s.revision > 1 AND s.op = 'insert' THEN 'the id came twice'
                    WHEN b.op = 'delete' THEN format('a %s after its end', s.kind)
                    WHEN s.revision > 1 AND (b.epoch, b.attempts, b.wake_at, b.leased_by, b.leased_until, b.token)
                      IS DISTINCT FROM (s.was_epoch, s.was_attempts, s.was_wake_at, s.was_leased_by,
                                        s.was_leased_until, s.was_token)
                    THEN format('between revision %s and this one somebody wrote unseen', s.revision - 1)
               END AS why
        FROM chaos.step s
        LEFT JOIN chaos.step b ON b.delay_id = s.delay_id AND b.revision = s.revision - 1`,
    },
    {
      of: 'lines of history',
      sql: `
        SELECT h.id AS delay_id, s.was_token AS token,
               CASE WHEN s.delay_id IS NULL THEN
                      format('history says "%s" at epoch %s, and nothing ended there', h.state, h.epoch)
                    WHEN (h.name, h.attempts) IS DISTINCT FROM (s.name, s.was_attempts)
                      OR h.key IS DISTINCT FROM s.key
                    THEN format('history says %s attempts of %s %s', h.attempts, h.name, h.key)
               END AS why
        FROM delay_queue.history h
        LEFT JOIN chaos.step s
          ON s.delay_id = h.id AND s.was_epoch = h.epoch
         AND s.kind IN ('complete', 'cancel', 'discard', 'revive', 'move on')
        WHERE h.id NOT IN (SELECT id FROM delay_queue.delay WHERE repeat IS NOT NULL)`,
    },
  ],
};
