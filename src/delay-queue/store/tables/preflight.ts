import { DelayConfigError } from '../../api/errors.js';
import {
  IDS_USED_UP,
  idsBeginAgain,
  mostIdOf,
  NAMEABLE,
  raiseIdsSql,
  toMigrate,
} from '../../database/driver-errors.js';
import type { Runner } from '../../database/runner.js';
import { allOf, ON_PRIMARY, tablesOf } from '../../database/tables.js';
import { type Growth, pauseMs, rest } from '../../tasks/pauses.js';
import type { AsText } from '../rows/answers.js';
import { texts } from '../rows/delay-rows.js';
import { functionsOf } from './functions.js';

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
${ON_PRIMARY}, home AS MATERIALIZED (
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
    `${what}: the advisory lock '${name}' was not free within ${withinMs / 1_000} s; ${heldBy(holders)}. ` +
      'Wait for it and start again; if it runs no migrations, end it with pg_terminate_backend(pid)',
  );
}

function heldBy([holder]: readonly Holder[]): string {
  if (holder === undefined) return 'its holder has just released it';
  const { pid, role, application } = holder;
  const of = role === null ? '' : ` of the role ${role}`;
  const named = application ? `, application_name ${application}` : '';
  return `the session with pid ${pid}${of}${named} holds it`;
}

/**
 * TypeORM's `schema` and the `search_path` of a role or connection say where the application's
 * tables are, not where its delays are. A path alone proves nothing, because many roles have one;
 * it does if another schema has a table of the same name. @returns advice
 * @param tablesIn TypeORM's `schema`
 */
async function lookForEnvironments(
  runner: Runner,
  schema: string,
  tablesIn: string | undefined,
): Promise<string[]> {
  if (schema !== 'delay_queue') return [];
  const theirs = tablesIn ?? (await schemaOfPath(runner, schema));
  if (theirs === undefined || theirs === 'public') return [];
  return [
    `the application's tables are in the schema ${theirs}, and its delays in delay_queue: environments that ` +
      `differ only by schema share them. Give each its own: forRoot({ schema: 'delay_queue_${theirs}' }), and ` +
      'delayQueueMigrations with the same',
  ];
}

/** Ignores the database's own path, which all environments in it share. */
async function schemaOfPath(runner: Runner, schema: string): Promise<string | undefined> {
  const [found] = await runner.query<{ theirs: string }>(
    `${ON_PRIMARY}
     SELECT pg_catalog.current_schema()::text AS theirs FROM pg_catalog.pg_settings
     WHERE name = 'search_path' AND source IN ('user', 'database user', 'client', 'session')
       AND pg_catalog.current_schema() NOT IN ('public', $1::text)
       AND EXISTS (
         SELECT FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
         JOIN pg_catalog.pg_class twin ON twin.relname = t.relname AND twin.relnamespace <> n.oid
         JOIN pg_catalog.pg_namespace other ON other.oid = twin.relnamespace
         WHERE n.nspname = pg_catalog.current_schema() AND t.relkind IN ('r', 'p') AND twin.relkind IN ('r', 'p')
           AND other.nspname <> ALL (ARRAY['information_schema', $1::text]) AND NOT pg_catalog.starts_with(other.nspname, 'pg_'))`,
    [schema],
  );
  return found?.theirs;
}

const SERVER_VERSION_MIN = 140_000;

/** Limits that end a statement of the engine where it cannot change the session's settings. */
const LIMITS = ['statement_timeout', 'transaction_timeout'];

/** Shorter limits do harm: a claim of 500 rows on a busy server takes its time. */
const LIMIT_MS_MIN = 5_000;

/**
 * Trigger functions on these tables that depend on the session's path, each with the remedy: the
 * engine's sessions do not find the application's tables by theirs.
 */
const UNPINNED = `
  SELECT pg_catalog.string_agg(DISTINCT 'ALTER FUNCTION ' || f.identity || ' SET search_path = '
           || pg_catalog.quote_ident(f.schema) || ', pg_temp', '; ')
  FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang AND l.lanispl
  JOIN LATERAL pg_catalog.pg_identify_object('pg_catalog.pg_proc'::regclass, p.oid, 0) f ON true
  WHERE NOT t.tgisinternal AND t.tgrelid = ANY (
      SELECT pg_catalog.to_regclass(name)::oid FROM pg_catalog.unnest($1::text[]) AS name)
    AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proconfig) AS setting
                    WHERE pg_catalog.starts_with(setting, 'search_path='))`;

export interface Findings {
  /** The limits of this role that are too short, in words; null: none. */
  limits: string | null;
  /** What works, but should be reported. */
  advice: readonly string[];
}

/**
 * Checks the database before anything starts. @throws DelayConfigError with the remedy
 * @param tablesIn TypeORM's `schema`
 */
export async function preflight(
  runner: Runner,
  schema: string,
  tablesIn?: string,
): Promise<Findings> {
  const [found] = await runner.query<{
    version: string;
    isolation: string;
    replica: string;
    read_only: string;
    missing: string | null;
    functions_missing: string | null;
    forbidden: string | null;
    guarded: string | null;
    limits: string | null;
    encoding: string;
    client_encoding: string;
    unpinned: string | null;
  }>(
    `SELECT pg_catalog.current_setting('server_version_num') AS version,
            pg_catalog.current_setting('default_transaction_isolation') AS isolation,
            pg_catalog.current_setting('server_encoding') AS encoding,
            pg_catalog.current_setting('client_encoding') AS client_encoding,
            pg_catalog.pg_is_in_recovery()::text AS replica,
            pg_catalog.current_setting('transaction_read_only') AS read_only,
            (SELECT pg_catalog.string_agg(name, ', ') FROM pg_catalog.unnest($1::text[]) AS name
             WHERE pg_catalog.to_regclass(name) IS NULL) AS missing,
            (SELECT pg_catalog.string_agg(name, ', ') FROM pg_catalog.unnest($4::text[]) AS name
             WHERE pg_catalog.to_regprocedure(name) IS NULL) AS functions_missing,
            (SELECT pg_catalog.string_agg(name, ', ') FROM pg_catalog.unnest($4::text[]) AS name
             WHERE NOT pg_catalog.has_function_privilege(pg_catalog.to_regprocedure(name), 'EXECUTE')) AS forbidden,
            (SELECT pg_catalog.string_agg(name, ', ') FROM pg_catalog.unnest($1::text[]) AS name
             WHERE pg_catalog.row_security_active(pg_catalog.to_regclass(name))) AS guarded,
            (SELECT pg_catalog.string_agg(name || ' = ' || setting || ' ms', ', ' ORDER BY name)
             FROM pg_catalog.pg_settings WHERE name = ANY ($2::text[])
               AND setting::bigint BETWEEN 1 AND $3::int) AS limits,
            (${UNPINNED}) AS unpinned`,
    [
      texts(allOf(tablesOf(schema))),
      texts(LIMITS),
      LIMIT_MS_MIN,
      texts(functionsOf(tablesOf(schema))),
    ],
  );
  if (found === undefined) throw new DelayConfigError('the database gave no answer');
  if (Number(found.version) < SERVER_VERSION_MIN) {
    throw new DelayConfigError(`Postgres 14 or later is needed; this is ${found.version}`);
  }
  if (found.replica === 'true') {
    throw new DelayConfigError('this server is a replica in recovery; delays need the primary');
  }
  if (found.read_only === 'on') {
    throw new DelayConfigError(
      'transactions are read-only here (default_transaction_read_only, or a server that takes no ' +
        'writes), and delays are written: connect to the primary, with a role that may write, or ' +
        'ALTER ROLE … SET default_transaction_read_only = off',
    );
  }
  if (found.isolation !== 'read committed') {
    throw new DelayConfigError(
      `default_transaction_isolation is '${found.isolation}', and delays need 'read committed': ` +
        'ALTER ROLE … SET default_transaction_isolation, and choose another level per transaction',
    );
  }
  const missing = found.missing ?? found.functions_missing;
  if (missing) {
    throw new DelayConfigError(`${missing} not found: ${toMigrate(schema)}`);
  }
  if (found.forbidden) {
    throw new DelayConfigError(
      `the role of the application may not execute ${found.forbidden}: ` +
        `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${tablesOf(schema).schema}`,
    );
  }
  if (found.guarded) {
    throw new DelayConfigError(
      `row-level security is active for this role on ${found.guarded}: it would not see some delays, ` +
        'or could not write them. ALTER TABLE … DISABLE ROW LEVEL SECURITY there, or give the role ' +
        'BYPASSRLS',
    );
  }
  if (found.encoding !== 'UTF8') {
    throw new DelayConfigError(
      `the encoding of this database is ${found.encoding}, and payloads, keys and error texts may hold any character: ` +
        "create a database with ENCODING 'UTF8' TEMPLATE template0, and move the tables there with pg_dump",
    );
  }
  if (found.client_encoding !== 'UTF8') {
    throw new DelayConfigError(
      `client_encoding is ${found.client_encoding} on the sessions of the DataSource, but pg sends UTF8: remove the option`,
    );
  }
  await refuseStrangers(runner, schema, false);
  const advice = [
    ...(found.unpinned === null ? [] : [pathOfTriggers(found.unpinned)]),
    ...(await checkIds(runner, schema)),
    ...(await lookForEnvironments(runner, schema, tablesIn)),
  ];
  return { limits: found.limits, advice };
}

const pathOfTriggers = (mend: string): string =>
  'triggers on the tables of the library also fire in its own sessions, whose search_path is only pg_catalog: names ' +
  `without a schema in their functions are not found there (42P01), and the claim fails. Give them a path of their own: ${mend}`;

/**
 * Logical replication copies rows but not sequences: the ids begin again on the new server. Each
 * `schedule` would then meet a taken id and roll back its caller's transaction, and an id in
 * history would stand for two delays.
 *
 * History has no index on its ids, and may be large: only its latest rows are read.
 *
 * @returns advice, where the role may not read the sequence
 * @throws DelayConfigError with the statement that repairs it
 */
export async function checkIds(runner: Runner, schema: string): Promise<string[]> {
  const { delay, history, permit, schema: quoted } = tablesOf(schema);
  const [found] = await runner.query<{
    readable: string | null;
    last: string | null;
    most: string | null;
  }>(
    `${ON_PRIMARY}
     SELECT pg_catalog.has_sequence_privilege(s.name, 'USAGE, SELECT')::text AS readable, q.last_value::text AS last,
            GREATEST(${mostIdOf(delay)}, ${mostIdOf(permit)},
                     (SELECT pg_catalog.max(id) FROM (SELECT id FROM ${history} ORDER BY ended_at DESC LIMIT 1000) late WHERE ${NAMEABLE})
            )::text AS most
     FROM (SELECT pg_catalog.pg_get_serial_sequence($1::text, 'id') AS name) s
     LEFT JOIN pg_catalog.pg_sequences q ON pg_catalog.format('%I.%I', q.schemaname, q.sequencename) = s.name`,
    [delay],
  );
  const { readable, last, most } = found ?? {};
  if (!readable) {
    throw new DelayConfigError(
      `the column id of ${delay} is no longer an identity column, as after a copy by a tool that does not know them: ` +
        `ALTER TABLE ${delay} ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY as the owner of the tables, ` +
        `then ${raiseIdsSql(schema)}`,
    );
  }
  if (readable !== 'true') {
    return [
      `this role may not read the sequence of ${delay}, and cannot check whether its ids begin again, as after logical ` +
        `replication: GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${quoted}`,
    ];
  }
  if (Number(last) > IDS_USED_UP) {
    throw new DelayConfigError(
      `the ids of ${delay} are used up, since its sequence was moved to ${last}: ${raiseIdsSql(schema)} ` +
        'as the owner of the tables',
    );
  }
  if (Number(most) <= Number(last)) return [];
  throw new DelayConfigError(
    `the next id of ${delay} is ${Number(last) + 1}, and there are ids up to ${most}. ${idsBeginAgain(schema)}`,
  );
}
