import { ON_PRIMARY, presentEpochUs } from './tables.js';

/**
 * Which of these server processes wait for a synchronous replica at their COMMIT. Parameter:
 * pids[].
 */
export const hangingSql = (): string => `
${ON_PRIMARY}
SELECT a.pid::text AS pid FROM pg_catalog.pg_stat_activity a
WHERE a.pid = ANY ($1::int4[]) AND a.wait_event = 'SyncRep'::text`;

/** The server's process of this session, since when it runs, and since when its open transaction does. */
const SESSION = `a.pid::text AS pid, ${presentEpochUs('a.backend_start')}::text AS opened, ${presentEpochUs('a.xact_start')}::text AS began`;
const OF_THIS_SESSION =
  'FROM pg_catalog.pg_stat_activity a WHERE a.pid = pg_catalog.pg_backend_pid()';

/** Which session it is. No parameters. Behind a pooler, that is another one for each transaction. */
export const sessionSql = (): string => `
${ON_PRIMARY}
SELECT ${SESSION} ${OF_THIS_SESSION}`;

/**
 * The same of one of our own, which ends when a transaction of it has been idle for so long.
 * Parameter: idle_ms.
 */
export const ownSessionSql = (): string => `
SELECT ${SESSION}, pg_catalog.set_config('idle_in_transaction_session_timeout', $1::int::text, false) AS idle_ms
${OF_THIS_SESSION}`;

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
