import { inWords, printable } from '../api/error-text.js';
import { lockWaitsSql } from './lock-waits.sql.js';
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
export interface SessionWait {
  waits: LockSession;
  holds: LockSession;
}

export async function lockWaits(runner: Runner, pids: readonly number[]): Promise<SessionWait[]> {
  const rows = await runner.query<Record<keyof SessionWait, string>>(lockWaitsSql(), [pids]);
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
