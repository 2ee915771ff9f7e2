import type { HistoryKept } from '../../../delay/attempts.js';
import { endedAttempt } from '../parts/attempt-log.js';
import { clock } from '../parts/clock.js';
import { intoHistory, logged } from '../parts/history-row.js';
import { type Tables } from '../../tables/schema.js';

/**
 * Removes finished delays, into history by the same statement. Parameters: ids[], epochs[],
 * lateness_ms[]. Answers the ids it did not remove: mostly none. The fence is the epoch; SKIP LOCKED, so that a batch
 * never waits for one row.
 *
 * No join here can compare each with each (ADR 0017), and none costs a look-up per row: IN that is part of an
 * expression is looked up in a hash table, and a FULL JOIN is hashed or merged.
 */
export const completeSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
input AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS i(id, epoch, lateness_ms)
),
locked AS MATERIALIZED (
  SELECT d.ctid
  FROM ${tables.delay} d
  WHERE d.id = ANY ($1::bigint[])
    AND ((d.id, d.epoch) IN (SELECT i.id, i.epoch FROM input i)) IS TRUE
  FOR UPDATE SKIP LOCKED
),
gone AS (
  DELETE FROM ${tables.delay} d USING locked l WHERE d.ctid = l.ctid
  RETURNING ${removed(kept)}
),
answered AS MATERIALIZED (
  SELECT i.id AS asked_id, i.lateness_ms, g.* FROM input i FULL JOIN gone g ON g.id = i.id AND g.epoch = i.epoch
)${intoHistory(tables, kept, {
  of: 'a',
  from: 'answered a',
  where: 'a.id IS NOT NULL',
  state: "'completed'",
  latenessMs: 'a.lateness_ms',
  error: 'NULL',
  attemptLog: endedAttempt('a', "'completed'"),
})}
SELECT a.asked_id::text AS id FROM answered a WHERE a.id IS NULL`;

/**
 * The same for one row, in the transaction whose fence holds it. Parameters: id, epoch, and lateness_ms where
 * history is kept. It fails when there is no such row, by a text that is no number: a COMMIT that is sent with it, in
 * one text, must not take place. Its plan is kept on sessions that are told nothing of plans,
 * see `fence`: with arrays each was planned anew, for 300 µs.
 */
export const completeOneSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
gone AS (
  DELETE FROM ${tables.delay} d WHERE d.id = $1::bigint AND d.epoch = $2::bigint
  RETURNING ${removed(kept)}
)${intoHistory(tables, kept, {
  of: 'g',
  from: 'gone g',
  state: "'completed'",
  latenessMs: '$3::float8',
  error: 'NULL',
  attemptLog: endedAttempt('g', "'completed'"),
})}
SELECT (CASE WHEN EXISTS (SELECT FROM gone) THEN '0' ELSE '${CLAIM_LOST} ' || $1::bigint::text END)::int::text AS done`;

/** What its error says: no text of a number. */
export const CLAIM_LOST = 'delay-queue: lost the claim of delay';

/** Columns of the row that was removed. */
const removed = (kept: HistoryKept): string =>
  kept === 'nothing'
    ? 'd.id, d.epoch'
    : [...ENDED, ...logged(kept)].map((column) => `d.${column}`).join(', ');

const ENDED = ['id', 'due_at', 'created_at', 'epoch', 'attempts', 'name', 'key', 'leased_by'];
