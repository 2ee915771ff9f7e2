import { CLOCK, epochMs, plusMs, wholeMs, type Tables } from '../schema.js';
import { expectFew, fencedRow } from './row-of.sql.js';

/**
 * Ends attempts whose delay stays: retried, postponed, released, or dead. Parameters, one array
 * each: ids, epochs, wait_ms (null: dead letter), moves_due, refunds (attempts given back), errors;
 * then the node. Fenced by epoch and owner; answers the rows it moved. Two attempts of one delay can
 * stand in one batch: the one whose epoch it is counts.
 */
export const settleSql = (tables: Tables): string => `
WITH ${CLOCK},
input AS MATERIALIZED (
  SELECT i.*, ${wholeMs(plusMs('clock.now', 'i.wait_ms'))} AS wake_at
  FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::bool[], $5::int[], $6::text[])
       AS i(id, epoch, wait_ms, moves_due, refund, error), clock
),
locked AS MATERIALIZED (
  SELECT d.ctid, i.*
  FROM input i, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid',
    and: 'd.leased_by = $7::text',
  })} d
  WHERE ${expectFew('i')}
),
settled AS (
  UPDATE ${tables.delay} d
  SET wake_at = COALESCE(l.wake_at, 'infinity'),
      due_at = CASE WHEN l.moves_due THEN l.wake_at ELSE d.due_at END,
      attempts = d.attempts - l.refund, epoch = d.epoch + 1, leased_until = NULL,
      leased_by = NULL, last_error = COALESCE(l.error, d.last_error)
  FROM locked l
  WHERE d.ctid = l.ctid
  RETURNING d.id, d.epoch, d.name, d.wake_at, d.last_error IS NOT NULL AS failed
)
SELECT s.id::float8 AS id, s.epoch, s.name, s.failed,
       CASE WHEN s.wake_at < 'infinity' THEN ${epochMs('s.wake_at')} END AS wake_ms
FROM settled s`;
