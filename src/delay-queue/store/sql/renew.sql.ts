import { CLOCK, plusMs, type Tables } from '../schema.js';

/** Renews leases. Parameters: ids[], epochs[], lease_ms. Answers the ids it renewed. */
export const renewSql = ({ delay }: Tables): string => `
WITH ${CLOCK},
input AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::int[]) AS i(id, epoch)),
locked AS MATERIALIZED (
  SELECT d.id
  FROM ${delay} d JOIN input i ON i.id = d.id
  WHERE d.id = ANY ($1::bigint[]) AND d.epoch = i.epoch AND d.leased_by IS NOT NULL
  ORDER BY d.id
  FOR UPDATE OF d SKIP LOCKED
),
renewed AS (
  UPDATE ${delay} d SET leased_until = ${plusMs('clock.now', '$3::float8')}
  FROM locked l, clock
  WHERE d.id = l.id
  RETURNING d.id
)
SELECT r.id::float8 AS id FROM renewed r`;
