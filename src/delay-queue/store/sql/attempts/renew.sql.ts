import { clock } from '../parts/clock.js';
import { expectFew } from '../parts/planner.js';
import { plusMs, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/**
 * Renews leases. Parameters: ids[], epochs[], lease_ms. Answers the ids it renewed.
 *
 * One that is over may go on if no other attempt has taken the row. Under a limit its place may be another's by then.
 */
export const renewSql = (tables: Tables): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS i(id, epoch)),
locked AS MATERIALIZED (
  SELECT d.ctid
  FROM input i, clock, LATERAL ${fencedRow(tables, 'i', {
    columns: 'd.ctid',
    and: `d.leased_by IS NOT NULL AND (d.leased_until > clock.now OR NOT EXISTS (
      SELECT FROM ${tables.quota} q WHERE q.name = d.name AND q.group_id IN ('', d.group_id)))`,
  })} d
  WHERE ${expectFew('i')}
),
renewed AS (
  UPDATE ${tables.delay} d SET leased_until = ${plusMs('clock.now', '$3::float8')}
  FROM locked l, clock
  WHERE d.ctid = l.ctid
  RETURNING d.id
)
SELECT r.id::text AS id FROM renewed r`;
