import type { HistoryKept } from '../../../delay/attempts.js';
import { endedAttempt, withoutLastAttempt } from '../parts/attempt-log.js';
import { clock } from '../parts/clock.js';
import { movedTo } from '../parts/move-log.js';
import { expectFew } from '../parts/planner.js';
import { msOrNull } from '../../wire/arrays.js';
import { epochMs, plusMs, wholeMs, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/**
 * Ends attempts whose delay stays: retried, postponed, released, or dead. Parameters, one array
 * each: ids, epochs, wait_ms (absent: dead letter), moves_due, refunds (attempts given back), failed (false:
 * the last error stays), errors; then the node; then, where attempts are kept, one more array: how each ended. Fenced by epoch and owner; answers the rows it moved. Two attempts of one delay can
 * stand in one batch: the one whose epoch it is counts.
 */
export const retrySql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT i.*, ${wholeMs(plusMs('clock.now', msOrNull('i.wait_ms')))} AS wake_at
  FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::bool[], $5::int[], $6::bool[], $7::text[]${kept === 'attempts' ? ', $9::text[]' : ''})
       AS i(id, epoch, wait_ms, moves_due, refund, failed, error${kept === 'attempts' ? ', ends' : ''}), clock
),
locked AS MATERIALIZED (
  SELECT d.ctid, i.*
  FROM input i, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid',
    and: 'd.leased_by = $8::text',
  })} d
  WHERE ${expectFew('i')}
),
retried AS (
  UPDATE ${tables.delay} d
  SET wake_at = COALESCE(l.wake_at, 'infinity'),
      due_at = CASE WHEN l.moves_due THEN l.wake_at ELSE d.due_at END,
      attempts = d.attempts - l.refund, epoch = d.epoch + 1, leased_until = NULL,
      leased_by = NULL, last_error = CASE WHEN l.failed THEN l.error ELSE d.last_error END,
      move_log = CASE WHEN l.moves_due THEN ${movedTo('l.wake_at', 'postpone')} ELSE d.move_log END${
        kept === 'attempts'
          ? `,
      attempt_log = ${ENDED}`
          : ''
      }
  FROM locked l
  WHERE d.ctid = l.ctid
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at, d.last_error IS NOT NULL AS failed
)
SELECT s.id::text AS id, s.epoch::text AS epoch, s.name, s.group_id, s.failed::text AS failed,
       CASE WHEN s.wake_at < 'infinity' THEN ${epochMs('s.wake_at')} END::text AS wake_ms
FROM retried s`;

const ENDED = `CASE l.ends WHEN 'unbegun' THEN ${withoutLastAttempt('d')}
           ELSE ${endedAttempt('d', 'l.ends', 'CASE WHEN l.failed THEN l.error END')} END`;
