import type { Tables } from '../schema.js';

/**
 * First statement of a transactional attempt: proves the claim and holds the row until the end.
 * Parameters: id, epoch, idle_ms. No row: the claim is lost.
 *
 * FOR UPDATE and not DELETE: a delete here would make every `schedule` of that key wait for the
 * handler. `is_local`: the timeout ends with the transaction; a process that is paused in it loses
 * the session and with it the locks.
 */
export const fenceSql = ({ delay }: Tables): string => `
SELECT set_config('idle_in_transaction_session_timeout', $3::text, true) AS idle,
       pg_backend_pid() AS pid, transaction_timestamp()::text AS began
FROM ${delay} d
WHERE d.id = $1::bigint AND d.epoch = $2::int
FOR UPDATE OF d`;

/**
 * Ends the session of a transactional attempt, if it is still in that transaction: a pooler lends a
 * session to somebody else as soon as its transaction is over. Parameters: pid, began.
 */
export const endSessionSql = (): string =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
   WHERE pid = $1::int AND xact_start = $2::timestamptz`;
