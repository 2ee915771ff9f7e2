import { DelayConfigError } from '../../api/errors.js';
import { printable } from '../../api/printable.js';
import { type Growth, pauseMs, rest } from '../../tasks/growing-pause.js';
import type { AsText } from '../rows/answers.js';

/**
 * What belongs to a stranger: the schema itself, if this role is to create in it; anything in it;
 * the functions of triggers on its tables. Parameters: the schema, and whether this role is to
 * create in it. One row each, the schema first: what it is, its owner, and its rightful owner.
 *
 * Not a stranger: this role, a role whose rights it has, a superuser, and in the schema its owner
 * and members of its owner. A superuser has the rights of every role, which makes none of them
 * trusted.
 */
const strangersSql = (): string => `
WITH home AS MATERIALIZED (
  SELECT n.oid, n.nspowner AS owner FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text
),
owned AS (
  SELECT true AS is_home, 'pg_catalog.pg_namespace'::regclass AS kind, h.oid, h.owner FROM home h WHERE $2::bool
  UNION ALL
  SELECT false, d.classid, d.objid, o.refobjid
  FROM home h
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = h.oid
  JOIN pg_catalog.pg_shdepend o ON o.classid = d.classid AND o.objid = d.objid AND o.deptype = 'o'
    AND o.dbid = (SELECT b.oid FROM pg_catalog.pg_database b WHERE b.datname = pg_catalog.current_database())
  UNION ALL
  SELECT false, 'pg_catalog.pg_trigger'::regclass, t.oid, p.proowner
  FROM home h
  JOIN pg_catalog.pg_class c ON c.relnamespace = h.oid
  JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
  WHERE NOT t.tgisinternal
)
SELECT i.type AS kind, i.identity, pg_catalog.quote_ident(r.rolname::text) AS owner,
       pg_catalog.quote_ident(CASE WHEN $2::bool THEN me.rolname::text
                                   ELSE pg_catalog.pg_get_userbyid(h.owner)::text END) AS rightful
FROM owned o
JOIN home h ON true
JOIN pg_catalog.pg_roles r ON r.oid = o.owner
JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
JOIN LATERAL pg_catalog.pg_identify_object(o.kind, o.oid, 0) i ON true
WHERE o.owner <> me.oid AND NOT r.rolsuper
  AND (me.rolsuper OR NOT pg_catalog.pg_has_role(me.oid, o.owner, 'USAGE'))
  AND (o.is_home OR o.owner <> h.owner AND NOT pg_catalog.pg_has_role(o.owner, h.owner, 'MEMBER'))
ORDER BY o.is_home DESC, i.type, i.identity`;

type StrangerAnswer = AsText<'kind' | 'identity' | 'owner' | 'rightful'>;

/**
 * The owner of a table or function decides what runs when it is used, with the rights of its users.
 * So a stranger may own neither a table of ours nor anything beside it in the schema.
 * @param migrates this role creates the tables; if not, the owner of the schema has created them
 * @throws DelayConfigError that names the object, its owner and the remedy
 */
export async function refuseStrangers(
  runner: { query(sql: string, parameters: unknown[]): Promise<unknown> },
  schema: string,
  migrates: boolean,
): Promise<void> {
  const found = (await runner.query(strangersSql(), [schema, migrates])) as StrangerAnswer[];
  const [first] = found;
  if (first === undefined) return;
  const { kind, identity, owner, rightful } = first;
  const others = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  const who = migrates ? 'the role that migrates' : 'the owner of the schema';
  const [belongs, mend] =
    kind === 'trigger'
      ? ['calls a function that belongs', `drop it, or ALTER FUNCTION … OWNER TO ${rightful}`]
      : ['belongs', `drop it, or ALTER ${kind.toUpperCase()} ${identity} OWNER TO ${rightful}`];
  throw new DelayConfigError(
    `${kind} ${identity} ${belongs} to the role ${owner}${others}, not to ${rightful}, ${who}: what ${owner} puts there ` +
      `would run with the rights of others. Check it, then ${mend}. A role that has the rights of the schema's ` +
      'owner is trusted: GRANT the owner to the role that migrates',
  );
}

/** How long a start waits for a lock that another session has. */
export const LOCK_WITHIN_MS = 60_000;

/** Between two tries. A wait in the server might have no end. */
const PAUSE: Growth = { firstMs: 10, factor: 2, lastMs: 250, jitter: 0.5 };

/** Longest text of another role in a message. */
const SHOWN_LENGTH_MAX = 63;

/** Sends a statement in the transaction that will hold the lock. */
type Query = (sql: string, parameters: unknown[]) => Promise<unknown>;

interface Holder {
  pid: string;
  role: string | null;
  application: string | null;
}

/** Qualified and cast: these run on the application's sessions, with any `search_path`. */
const NUMBER = 'pg_catalog.hashtextextended($1::pg_catalog.text, 0::pg_catalog.int8)';

const TRY = `SELECT pg_catalog.pg_try_advisory_xact_lock(${NUMBER})::pg_catalog.text AS taken`;

const HOLDER = `
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
  query: Query,
  name: string,
  what: string,
  withinMs: number = LOCK_WITHIN_MS,
): Promise<void> {
  const giveUpAtMs = performance.now() + withinMs;
  for (let tries = 1; ; tries += 1) {
    const [row] = (await query(TRY, [name])) as { taken: string }[];
    if (row?.taken === 'true') return;
    const leftMs = giveUpAtMs - performance.now();
    if (leftMs <= 0) break;
    await rest(Math.min(leftMs, pauseMs(PAUSE, tries)));
  }
  const holders = (await query(HOLDER, [name])) as Holder[];
  throw new DelayConfigError(
    `${what}: the advisory lock '${name}' was not free within ${withinMs / 1_000} s; ${throttledBy(holders)}. ` +
      'Wait for it and start again; if it runs no migrations, end it with pg_terminate_backend(pid)',
  );
}

function throttledBy([holder]: readonly Holder[]): string {
  if (holder === undefined) return 'its holder has just released it';
  const { pid, role, application } = holder;
  const of = role === null ? '' : ` of the role ${shown(role)}`;
  const named = application ? `, application_name ${shown(application)}` : '';
  return `the session with pid ${pid}${of}${named} holds it`;
}

const shown = (text: string): string => printable(text, SHOWN_LENGTH_MAX);
