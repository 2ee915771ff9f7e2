import { ON_PRIMARY, presentEpochUs } from './tables.js';

/**
 * Which of these server processes wait for a synchronous replica at their COMMIT. Parameter:
 * pids[]. Such a session stays until the replica is back, whatever becomes of its connection.
 */
export const hangingSql = (): string => `
${ON_PRIMARY}
SELECT a.pid::text AS pid FROM pg_catalog.pg_stat_activity a
WHERE a.pid = ANY ($1::int4[]) AND a.wait_event = 'SyncRep'::text`;

/**
 * The server's process of a session, since when it runs, and since when its open transaction does.
 * No parameters. Behind a pooler, that is another process for each transaction.
 */
export const sessionSql = (): string => `
${ON_PRIMARY}
SELECT a.pid::text AS pid, ${presentEpochUs('a.backend_start')}::text AS opened, ${presentEpochUs('a.xact_start')}::text AS began
FROM pg_catalog.pg_stat_activity a WHERE a.pid = pg_catalog.pg_backend_pid()`;

/**
 * Ends the session of a transactional attempt. Parameters: pid, opened_us, and began_us where a pooler
 * may have lent the session to another client since that transaction ended.
 */
export const endSessionSql = (): string =>
  `SELECT pg_catalog.pg_terminate_backend(pid)::text AS ended FROM pg_catalog.pg_stat_activity
   WHERE pid = $1::int AND ${presentEpochUs('backend_start')} = $2::bigint
     AND ($3::bigint IS NULL OR ${presentEpochUs('xact_start')} = $3::bigint)`;

/** Whether this session may write at all, outside of a transaction that said READ ONLY. No parameters. */
export const takesWritesSql = (): string =>
  `SELECT (NOT pg_catalog.pg_is_in_recovery()
           AND pg_catalog.current_setting('default_transaction_read_only') = 'off'::text)::text AS writes`;

/** Whether this is another transaction than that of the attempt, which has set this setting for itself. */
export const isAnotherSql = (): string => `
${ON_PRIMARY}
SELECT (s.setting = s.reset_val)::text AS another FROM pg_catalog.pg_settings s
WHERE s.name = 'idle_in_transaction_session_timeout'::text`;
