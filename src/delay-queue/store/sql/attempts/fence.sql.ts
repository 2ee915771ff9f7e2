import { presentEpochUs, type Tables } from '../../tables/schema.js';
import { fencedRow } from '../parts/row-of.js';

/**
 * First statement of a transactional call: proves the claims and holds the rows until the end, in
 * id order. Parameters: ids[], epochs[], idle_ms. Answers one row: the session, its transaction
 * with its isolation, and the ids whose claim still holds.
 *
 * FOR UPDATE and not DELETE: a delete here would make every `schedule` of that key wait for the
 * handler. `is_local`: the timeout ends with the transaction; a process that is paused in it loses
 * the session and with it the locks.
 */
export const fenceSql = (tables: Tables): string => `
WITH held AS MATERIALIZED (
  SELECT i.id
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS u(id, epoch) ORDER BY u.id) i,
       LATERAL ${fencedRow(tables, 'i', { columns: 'd.id', waits: true })} d
)
${proof("(SELECT COALESCE(pg_catalog.json_agg(h.id), '[]')::text FROM held h)")}`;

/**
 * The same for one row. Parameters: id, epoch, idle_ms. A plan for any id costs what one for this id does, so Postgres
 * keeps it on sessions that are told nothing of plans: with arrays it planned each time, for 180 µs.
 */
export const fenceOneSql = ({ delay }: Tables): string =>
  proof(`COALESCE((SELECT '[' || d.id::text || ']' FROM ${delay} d
                  WHERE d.id = $1::bigint AND d.epoch = $2::bigint FOR UPDATE), '[]')`);

const proof = (ids: string): string => `
SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', $3::text, true) AS idle,
       pg_catalog.pg_backend_pid()::text AS pid, ${presentEpochUs('pg_catalog.transaction_timestamp()')}::text AS began_us,
       pg_catalog.pg_current_xact_id()::text AS transaction, pg_catalog.current_setting('transaction_isolation') AS isolation,
       ${ids} AS ids`;

/** The transaction that is open, if it has a number: one that is fenced has that of its fence. No parameters. */
export const transactionNowSql = (): string =>
  'SELECT pg_catalog.pg_current_xact_id_if_assigned()::text AS transaction';

/**
 * Ends the session of a transactional attempt, if it is still in that transaction: a pooler lends a
 * session to another client as soon as its transaction is over. Parameters: pid, began_us.
 */
export const endSessionSql = (): string =>
  `SELECT pg_catalog.pg_terminate_backend(pid)::text AS ended FROM pg_catalog.pg_stat_activity
   WHERE pid = $1::int AND ${presentEpochUs('xact_start')} = $2::bigint`;
