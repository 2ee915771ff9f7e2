import { CLOCK, type Tables } from '../schema.js';
import { endedColumns } from './look.sql.js';

/**
 * Removes finished delays, into history by the same statement. Parameters: ids[], epochs[],
 * lateness_ms[]. Answers the ids it did not remove: mostly none. The fence is the epoch; SKIP LOCKED, so that a batch
 * never waits for one row.
 */
export const completeSql = (tables: Tables, withHistory: boolean): string => `
WITH ${CLOCK},
input AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::int[], $3::float8[]) AS i(id, epoch, lateness_ms)
),
locked AS MATERIALIZED (
  SELECT d.ctid, i.lateness_ms
  FROM ${tables.delay} d JOIN input i ON i.id = d.id
  WHERE d.id = ANY ($1::bigint[]) AND d.epoch = i.epoch
  ORDER BY d.id
  FOR UPDATE OF d SKIP LOCKED
),
gone AS (
  DELETE FROM ${tables.delay} d USING locked l WHERE d.ctid = l.ctid
  RETURNING ${
    withHistory
      ? `d.id, d.due_at, d.created_at, l.lateness_ms, d.epoch, d.attempts, d.name, d.key,
            d.leased_by`
      : 'd.id'
  }
)${
  withHistory
    ? `,
ended AS (
  INSERT INTO ${tables.history} (${endedColumns})
  SELECT g.id, clock.now, g.due_at, g.created_at, g.lateness_ms, g.epoch, g.attempts, 'completed',
         g.name, g.key, g.leased_by, NULL
  FROM gone g, clock
)`
    : ''
}
SELECT i.id::float8 AS id FROM input i WHERE NOT EXISTS (SELECT FROM gone g WHERE g.id = i.id)`;
