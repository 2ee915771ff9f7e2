/**
 * What became of a transaction. Parameter: its number. Answers one row: `committed`, `aborted`, `in progress`, or null
 * when that is forgotten, after millions of others.
 */
export const transactionStatusSql = (): string =>
  'SELECT pg_catalog.pg_xact_status($1::xid8) AS status';

/**
 * Which of these processes of the server wait for a synchronous replica at their COMMIT. Parameter: pids[]. Such a session
 * stays until that replica is back, whatever has become of its connection.
 */
export const hangingSql = (): string => `
SELECT a.pid::text AS pid FROM pg_catalog.pg_stat_activity a
WHERE a.pid = ANY ($1::int4[]) AND a.wait_event = 'SyncRep'::text`;
