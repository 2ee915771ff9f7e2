import { CLOCK, epochMs, plusMs, wholeMs, type Tables } from '../schema.js';

/**
 * Ends attempts whose delay stays: retried, postponed, released, or dead. Parameters, one array
 * each: ids, epochs, wait_ms (null: dead letter), moves_due, refunds (attempts given back), errors;
 * then the node. Fenced by epoch and owner; answers the rows it moved. Two attempts of one delay can
 * stand in one batch: the one whose epoch it is counts.
 */
export const settleSql = ({ delay }: Tables): string => `
WITH ${CLOCK},
input AS MATERIALIZED (
  SELECT i.*, ${wholeMs(plusMs('clock.now', 'i.wait_ms'))} AS wake_at
  FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::bool[], $5::int[], $6::text[])
       AS i(id, epoch, wait_ms, moves_due, refund, error), clock
),
locked AS MATERIALIZED (
  SELECT d.id, d.epoch
  FROM ${delay} d JOIN input i ON i.id = d.id
  WHERE d.id = ANY ($1::bigint[]) AND d.epoch = i.epoch AND d.leased_by = $7::text
  ORDER BY d.id
  FOR UPDATE OF d SKIP LOCKED
),
settled AS (
  UPDATE ${delay} d
  SET wake_at = COALESCE(i.wake_at, 'infinity'),
      due_at = CASE WHEN i.moves_due THEN i.wake_at ELSE d.due_at END,
      attempts = d.attempts - i.refund, epoch = d.epoch + 1, leased_until = NULL,
      leased_by = NULL, last_error = COALESCE(i.error, d.last_error)
  FROM locked l JOIN input i ON i.id = l.id AND i.epoch = l.epoch
  WHERE d.id = l.id
  RETURNING d.id, d.epoch, d.name, d.wake_at, d.last_error IS NOT NULL AS failed
)
SELECT s.id::float8 AS id, s.epoch, s.name, s.failed,
       CASE WHEN s.wake_at < 'infinity' THEN ${epochMs('s.wake_at')} END AS wake_ms
FROM settled s`;
