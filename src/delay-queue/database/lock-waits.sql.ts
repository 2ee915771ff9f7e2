import { inWords, printable } from '../api/error-text.js';
import type { Runner } from './runner.js';

/** A session as this role may see it: state and age of another role's sessions are null. */
export interface LockSession {
  /** Null: a prepared transaction, which has no session. */
  pid: number | null;
  application: string | null;
  state: string | null;
  /** Age of its transaction. */
  openMs: number | null;
}

/** One session that waits for another. */
export interface LockWait {
  waits: LockSession;
  holds: LockSession;
}

/** SQL for a {@link LockSession}, as JSON. @param of row of `pg_stat_activity`, which may be missing */
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

export async function lockWaits(runner: Runner, pids: readonly number[]): Promise<LockWait[]> {
  const rows = await runner.query<Record<keyof LockWait, string>>(lockWaitsSql(), [pids]);
  return rows.map(({ waits, holds }) => ({
    waits: JSON.parse(waits) as LockSession,
    holds: JSON.parse(holds) as LockSession,
  }));
}

/** Such as `session 4711 (psql, idle in transaction, transaction age 5 min)`. Never its statement, which may hold data. */
export function sessionInWords({ pid, application, state, openMs }: LockSession): string {
  if (pid === null) return 'a prepared transaction';
  const name = application === null ? [] : [printable(application)];
  const open = openMs === null ? '' : `, transaction age ${inWords(openMs)}`;
  const known = [...name, ...(state === null ? [] : [`${state}${open}`])].join(', ');
  return `session ${pid}${known === '' ? '' : ` (${known})`}`;
}
