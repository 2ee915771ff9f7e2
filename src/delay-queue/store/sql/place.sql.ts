import { CLOCK, epochMs, plusMs, wholeMs, type Tables } from '../schema.js';

/**
 * Inserts delays; a key that is taken is left alone and missing from the answer.
 *
 * A key that is taken for all to see is not even tried: a unique index lets an INSERT wait for
 * whoever changes the row there, and a handler that moved its own row on may take its time. The
 * scalar sub-select is an index look-up per key whatever the planner thinks of the table's size.
 *
 * Parameters, one array each, sorted by (name, key): names, keys, payloads, after_ms, at,
 * max_attempts. Identities follow the order of the arrays, so the caller can match keyless rows.
 */
export const placeSql = ({ delay }: Tables): string => `
WITH ${CLOCK},
input AS MATERIALIZED (
  SELECT i.*, COALESCE(i.at, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}) AS due
  FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[])
       WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts, ord), clock
),
placed AS (
  INSERT INTO ${delay} (name, key, payload, due_at, wake_at, max_attempts, created_at)
  SELECT i.name, i.key, i.payload::jsonb, i.due, GREATEST(i.due, ${wholeMs('clock.now')}),
         i.max_attempts, clock.now
  FROM input i, clock
  WHERE (SELECT d.id FROM ${delay} d WHERE d.name = i.name AND d.key = i.key LIMIT 1) IS NULL
  ORDER BY i.ord
  ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING
  RETURNING id, name, key, epoch, due_at, wake_at
)
SELECT p.id::float8 AS id, p.name, p.key, p.epoch, ${epochMs('p.due_at')} AS due_ms,
       ${epochMs('p.wake_at')} AS wake_ms, ${epochMs('clock.now')} AS now_ms
FROM placed p, clock
ORDER BY p.id`;
