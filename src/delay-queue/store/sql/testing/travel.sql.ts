import { olderAttempts } from '../parts/attempt-log.js';
import { clock } from '../parts/clock.js';
import { olderMoves } from '../parts/move-log.js';
import { isRowOf } from '../parts/planner.js';
import { isPaused } from '../pauses/pauses.sql.js';
import { epochMs, plusMs, wakeOf, type Tables } from '../../tables/schema.js';

/** For so long it waits for rows that a transaction holds: less than the runners of tests wait for a test. */
export const MOVES_WITHIN_MS = 3_000;

/** Who travels for longer than that finds what is old at the beginning of time, and not before it. */
const older = (instant: string): string =>
  `GREATEST(${plusMs(instant, '(-l.ms)')}, to_timestamp(0))`;

/**
 * Lets time pass, for tests: what waits, and what has ended, pauses and the filling of rate limits become older up to the
 * moment at which the next of those names is due, or a pause ends, or by `left_ms` if that is less. What is due already
 * leaves the time as it is. Parameters: names[], left_ms, ids[] that are left out of this, for a limit holds them back.
 * Answers by how many milliseconds, and whether something is due then, or in this millisecond.
 *
 * What an attempt holds stays where it is. Of a dead letter the wake is infinite, and stays so.
 */
export const travelSql = (tables: Tables): string => `
WITH ${clock({ waitsMs: MOVES_WITHIN_MS })},
next AS (
  SELECT ${epochMs('LEAST(due.at, resumed.at) - clock.now')} AS in_ms
  FROM clock, LATERAL (
    SELECT min(${wakeOf('d')}) AS at FROM ${tables.delay} d
    WHERE d.name = ANY ($1::text[]) AND d.wake_at < 'infinity' AND d.id <> ALL ($3::bigint[])
      AND (d.leased_until IS NULL OR d.leased_until <= clock.now) AND NOT ${isPaused(tables)}
  ) due, LATERAL (
    SELECT min(p.until) AS at FROM ${tables.pause} p
    WHERE p.name = ANY ($1::text[]) AND p.until > clock.now AND p.until < 'infinity'
  ) resumed
),
step AS (
  SELECT CASE WHEN next.in_ms <= 1 THEN 0 ELSE LEAST(ceil(next.in_ms), $2::float8) END AS ms,
         COALESCE(next.in_ms <= 1 OR ceil(next.in_ms) <= $2::float8, false) AS is_due
  FROM next
),
locked AS MATERIALIZED (
  SELECT d.id, step.ms
  FROM ${tables.delay} d, step, clock
  WHERE step.ms > 0 AND (d.leased_until IS NULL OR d.leased_until <= clock.now)
    AND clock.lock_timeout IS NOT NULL
  ORDER BY d.id
  FOR UPDATE OF d
),
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = ${older('d.due_at')}, wake_at = ${older('d.wake_at')},
      created_at = ${older('d.created_at')}, epoch = d.epoch + 1,
      attempt_log = ${olderAttempts('d', 'l.ms')}, move_log = ${olderMoves('d', 'l.ms')},
      repeat = d.repeat || jsonb_build_object('travelledMs', COALESCE((d.repeat ->> 'travelledMs')::float8, 0) + l.ms)
  FROM locked l
  WHERE ${isRowOf('l')}
),
aged AS (
  UPDATE ${tables.history} h
  SET ended_at = ${older('h.ended_at')}, due_at = ${older('h.due_at')},
      created_at = ${older('h.created_at')}, attempt_log = ${olderAttempts('h', 'l.ms')},
      move_log = ${olderMoves('h', 'l.ms')}
  FROM step l
  WHERE l.ms > 0
),
unpaused AS (
  UPDATE ${tables.pause} p
  SET paused_at = ${older('p.paused_at')}, until = ${older('p.until')}
  FROM step l
  WHERE l.ms > 0
),
filled AS (
  UPDATE ${tables.quota} q SET filled_at = ${older('q.filled_at')} FROM step l WHERE l.ms > 0
)
SELECT step.ms::text AS ms, step.is_due::text AS is_due FROM step`;
