/** SQL for a `LockSession`, as JSON. @param of row of `pg_stat_activity`, which may be missing */
export const lockSession = (pid: string, of: string): string =>
  `pg_catalog.json_build_object('pid', ${pid}, 'application', NULLIF(${of}.application_name, ''), 'state', ${of}.state,
      'openMs', pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - ${of}.xact_start) * 1e3::float8)`;

/** `pg_blocking_pids` stops the lock manager for a moment, for each session that is looked at. */
const LOOKED_AT_MAX = 100;

/** Who waits for a lock among these sessions, or for one that they hold. Parameter: pids[]. */
export const lockWaitsSql = (): string => `
SELECT ${lockSession('w.pid', 'wa')}::text AS waits,
       ${lockSession('NULLIF(b.pid, 0)', 'ba')}::text AS holds
FROM (SELECT DISTINCT l.pid FROM pg_catalog.pg_locks l WHERE NOT l.granted LIMIT ${LOOKED_AT_MAX}) w
     CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
     LEFT JOIN pg_catalog.pg_stat_activity wa ON wa.pid = w.pid
     LEFT JOIN pg_catalog.pg_stat_activity ba ON ba.pid = b.pid
WHERE w.pid = ANY ($1::int4[]) OR b.pid = ANY ($1::int4[])
ORDER BY w.pid, b.pid`;
