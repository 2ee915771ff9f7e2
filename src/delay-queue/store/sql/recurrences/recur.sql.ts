import type { HistoryKept } from '../../../delay/attempts.js';
import { endedAttempt } from '../parts/attempt-log.js';
import { clock } from '../parts/clock.js';
import { andLogged, intoHistory } from '../parts/history-row.js';
import { expectFew } from '../parts/planner.js';
import { maximumOrNull, msOrNull } from '../../wire/arrays.js';
import { epochMs, wakeOf, wholeMs, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/** What `state` says of an occurrence that leaves no line in history. */
export const NO_LINE = '';

/**
 * Ends occurrences of delays that recur: each goes on to its next instant, with all its attempts. Parameters, one array
 * each: ids, epochs, due (of the occurrence), next, states, lateness_ms (absent: no attempt ended it), errors ('': none),
 * max_attempts (absent: the node holds it; else it is due and has no attempt left); then the node. Fenced by epoch and
 * owner; answers the rows that it moved.
 */
export const recurSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT i.id, i.epoch, i.due_at, i.next_at, i.state, ${msOrNull('i.lateness_ms')} AS lateness_ms,
         NULLIF(i.error, '') AS error, ${maximumOrNull('i.max_attempts')} AS max_attempts
  FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::float8[],
              $7::text[], $8::int[])
       AS i(id, epoch, due_at, next_at, state, lateness_ms, error, max_attempts)
),
ending AS MATERIALIZED (
  SELECT d.*, i.due_at, i.next_at, i.state, i.lateness_ms, i.max_attempts IS NOT NULL AS is_lost,
         CASE WHEN i.max_attempts IS NULL THEN i.error ELSE COALESCE(d.last_error, i.error) END AS error
  FROM input i, clock, LATERAL ${fencedRow(tables, 'i', {
    columns: `d.ctid, d.id, d.epoch, d.created_at, d.attempts, d.name, d.key, d.leased_by, d.last_error${andLogged(kept, 'd.')}`,
    and: `CASE WHEN i.max_attempts IS NULL THEN d.leased_by = $9::text
             ELSE ${wakeOf('d')} <= clock.now AND d.attempts >= i.max_attempts END`,
  })} d
  WHERE ${expectFew('i')}
),
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = e.next_at, wake_at = GREATEST(e.next_at, ${wholeMs('clock.now')}), epoch = d.epoch + 1,
      attempts = 0, leased_until = NULL, leased_by = NULL, refused_by = NULL, last_error = NULL, attempt_log = NULL, move_log = NULL
  FROM ending e, clock
  WHERE d.ctid = e.ctid
  RETURNING e.*, d.epoch AS next_epoch, d.group_id AS in_group, d.wake_at
)${intoHistory(tables, kept, {
  of: 'e',
  from: 'moved e',
  where: `e.state <> '${NO_LINE}'`,
  state: 'e.state',
  latenessMs: 'e.lateness_ms',
  error: 'e.error',
  attemptLog: `CASE WHEN e.is_lost THEN e.attempt_log ELSE ${ENDED} END`,
})}
SELECT m.id::text AS id, m.next_epoch::text AS epoch, m.name, m.key, m.in_group AS group_id, m.attempts::text AS attempts,
       m.error, ${epochMs('m.wake_at')}::text AS wake_ms
FROM moved m`;

const ENDED = endedAttempt(
  'e',
  "CASE WHEN e.state = 'completed' THEN 'completed' ELSE 'failed' END",
  'e.error',
);
