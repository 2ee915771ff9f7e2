import { DelayConfigError } from '../api/errors.js';
import { type Growth, pauseMs, rest } from '../tasks/pauses.js';
import type { Queries } from './runner.js';
import { ON_PRIMARY } from './tables.js';

/** How long a start waits for a lock that another session has. */
export const LOCK_WITHIN_MS = 60_000;

/** Between two tries. A wait in the server might have no end. */
const PAUSE: Growth = { firstMs: 10, factor: 2, lastMs: 250, jitter: 0.5 };

interface LockHolder {
  pid: string;
  role: string | null;
  application: string | null;
}

/** Qualified and cast: these run on the application's sessions, with any `search_path`. */
const NUMBER = 'pg_catalog.hashtextextended($1::pg_catalog.text, 0::pg_catalog.int8)';

const TRY = `SELECT pg_catalog.pg_try_advisory_xact_lock(${NUMBER})::pg_catalog.text AS taken`;

const HOLDER = `
${ON_PRIMARY}
SELECT l.pid::pg_catalog.text AS pid, a.usename::pg_catalog.text AS role,
       a.application_name::pg_catalog.text AS application
FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory'::pg_catalog.text AND l.objsubid = 1::pg_catalog.int2 AND l.granted
  AND (l.classid::pg_catalog.int8 << 32 | l.objid::pg_catalog.int8) = ${NUMBER}
  AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())`;

/**
 * Takes the advisory lock of that name until the transaction ends. Any role that may connect to the
 * database can hold it for as long as it likes.
 * @param what needs the lock, for the message
 * @throws DelayConfigError that names the holder, when the time is over
 */
export async function takeAdvisoryLock(
  runner: Queries,
  name: string,
  what: string,
  withinMs: number = LOCK_WITHIN_MS,
): Promise<void> {
  const giveUpAtMs = performance.now() + withinMs;
  for (let tries = 1; ; tries += 1) {
    const [row] = (await runner.query(TRY, [name])) as { taken: string }[];
    if (row?.taken === 'true') return;
    const leftMs = giveUpAtMs - performance.now();
    if (leftMs <= 0) break;
    await rest(Math.min(leftMs, pauseMs(PAUSE, tries)));
  }
  const holders = (await runner.query(HOLDER, [name])) as LockHolder[];
  throw new DelayConfigError(
    `${what}: the advisory lock '${name}' was not free within ${withinMs / 1_000} s; ${heldBy(holders)}. ` +
      'Wait for it and start again; if it runs no migrations, end it with pg_terminate_backend(pid)',
  );
}

function heldBy([holder]: readonly LockHolder[]): string {
  if (holder === undefined) return 'its holder has just released it';
  const { pid, role, application } = holder;
  const of = role === null ? '' : ` of the role ${role}`;
  const named = application ? `, application_name ${application}` : '';
  return `the session with pid ${pid}${of}${named} holds it`;
}
