import { clock } from '../parts/clock.js';
import { deleteOldest } from '../parts/delete-oldest.js';
import { rowById } from '../parts/row-of.js';
import type { Tables } from '../../tables/schema.js';

/**
 * Writes down that the attempts of these delays are to end. Parameters: ids[], and the node that asks, which tells its own
 * attempts itself. Answers the claims that hold them, and whose they are.
 *
 * A table of its own: an attempt with a transaction locks its row to its end, and no writer waits for a handler.
 */
export const askAbortsSql = (tables: Tables): string => `
WITH ${clock(tables)},
asked AS MATERIALIZED (
  SELECT d.id, d.epoch, d.leased_by
  FROM pg_catalog.unnest($1::bigint[]) AS i(id), LATERAL ${rowById(tables, 'i', {
    columns: 'd.id, d.epoch, d.leased_by',
    and: 'd.leased_by IS NOT NULL',
    lock: 'none',
  })} d
),
written AS (
  INSERT INTO ${tables.abort} (id, epoch, asked_at)
  SELECT a.id, a.epoch, clock.now FROM asked a, clock WHERE a.leased_by <> $2::text ORDER BY a.id
  ON CONFLICT DO NOTHING
)
SELECT a.id::text AS id, a.epoch::text AS epoch, a.leased_by FROM asked a`;

/**
 * Takes what was written down of these claims, and of earlier ones of their delays. Parameters: ids[], epochs[]. Answers
 * what there was. What another statement has just now is found by the next look.
 */
export const takeAbortsSql = ({ abort }: Tables): string => `
WITH gone AS (
  DELETE FROM ${abort} WHERE ctid = ANY (ARRAY(
    SELECT a.at
    FROM unnest($1::bigint[], $2::bigint[]) AS i(id, epoch), LATERAL (
      SELECT r.ctid AS at FROM ${abort} r WHERE r.id = i.id AND r.epoch <= i.epoch FOR UPDATE SKIP LOCKED
    ) a
  ))
  RETURNING id, epoch
)
SELECT id::text AS id, epoch::text AS epoch FROM gone`;

/** Deletes what no node has taken: the attempts were over before. Parameters: age_ms, limit. Answers how many. */
export const forgetAbortsSql = ({ abort }: Tables): string =>
  deleteOldest(abort, { by: 'ctid', since: 'asked_at', order: 'asked_at' });
