import type { HistoryKept } from '../../../delay/attempts.js';
import { endedAttempt } from '../parts/attempt-log.js';
import { clockOf } from '../parts/clock.js';
import { intoHistory } from '../parts/history-row.js';
import type { LockWait } from '../parts/lock-wait.js';
import { goesOnAsItDid, repeatFrom } from '../parts/repeat.js';
import {
  epochMs,
  extendedMs,
  nextEpoch,
  plusMs,
  wholeMs,
  type Tables,
} from '../../tables/schema.js';

/**
 * A handler schedules its own key: the row it runs on moves on in place, and the attempt ends in
 * history. Parameters: id, epoch, node, payload (null: as it is), after_ms, at, extend_ms,
 * max_attempts (null: as it is), lateness_ms, extras (null: as they are).
 *
 * Without a payload it is as old as it was: nothing newer than what came meanwhile to run once more.
 *
 * Lock wait: what holds the row of a plain attempt, its own renewal above all, lets go soon, and is
 * waited for. A transactional handler that comes with a transaction of its own making, or a plain one
 * that has moved the row on in an open one, would wait for itself without end; it gets no row and
 * hears `running`.
 */
export const moveOnSql = (tables: Tables, kept: HistoryKept, lockWait: LockWait): string => `
WITH ${clockOf(tables, lockWait)},
own AS MATERIALIZED (
  SELECT d.*,
         COALESCE($6::timestamptz, ${wholeMs(plusMs('clock.now', '$5::float8'))},
                  ${extendedMs('d.due_at', '$7::float8')}) AS due
  FROM ${tables.delay} d, clock
  WHERE d.id = $1::bigint AND d.epoch = $2::bigint AND d.leased_by = $3::text
  FOR UPDATE OF d ${lockWait === 'at once' ? 'SKIP LOCKED' : ''}
),
moved AS (
  UPDATE ${tables.delay} d
  SET payload = COALESCE($4::text::jsonb, d.payload), due_at = own.due,
      wake_at = GREATEST(own.due, ${wholeMs('clock.now')}),
      max_attempts = COALESCE($8::int, d.max_attempts), created_at = CASE WHEN $4::text IS NULL THEN d.created_at ELSE clock.now END,
      epoch = ${nextEpoch('d')}, attempts = 0, leased_until = NULL, leased_by = NULL, refused_by = NULL, last_error = NULL, attempt_log = NULL, move_log = NULL,
      group_id = CASE WHEN $10::text IS NULL THEN d.group_id ELSE $10::jsonb ->> 'group'::text END,
      headers = CASE WHEN $10::text IS NULL THEN d.headers ELSE $10::jsonb -> 'headers'::text END,
      repeat = CASE WHEN $10::jsonb -> 'repeat'::text IS NULL OR ${goesOnAsItDid('own.repeat', '$10')} THEN d.repeat
                    ELSE ${repeatFrom(`($10::jsonb -> 'repeat'::text)`, 'own.due')} END
  FROM own, clock
  WHERE d.id = own.id
  RETURNING d.id, d.group_id, d.epoch, d.due_at, d.wake_at
)${intoHistory(tables, kept, {
  of: 'own',
  from: 'own JOIN moved USING (id)',
  state: "'superseded'",
  latenessMs: '$9::float8',
  attemptLog: endedAttempt('own', "'superseded'"),
})}${kept === 'nothing' ? ', unused AS (SELECT $9::float8)' : ''}
SELECT m.id::text AS id, m.group_id, m.epoch::text AS epoch, ${epochMs('m.due_at')}::text AS due_ms,
       ${epochMs('m.wake_at')}::text AS wake_ms, ${epochMs('clock.now')}::text AS now_ms
FROM moved m, clock`;
