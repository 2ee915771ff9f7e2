import type { Client, ClientBase, PoolConfig } from 'pg';

/** What pg and its pool take; their own types leave some of it out. */
export type ConnectionConfig = Omit<PoolConfig, 'Client' | 'onConnect'> & {
  Client?: new (config: ConnectionConfig) => Client;
  /** Called for each new connection of a pool, before the pool hands it out. */
  onConnect?: (client: ClientBase) => Promise<unknown> | void;
};

/** A statement of ours takes milliseconds; one that hangs is a half-open connection. */
export const QUERY_TIMEOUT_MS = 15_000;

/** A default `pg` client waits for ever on a connection that died silently. */
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Options that say how the application uses its own pool: its size, the limits of its statements, how it
 * reads answers. All other options say how to connect, and as which role. They hold for the engine's
 * connections too: a hook that sets the role, a client or a stream that knows another way to the server.
 */
const OF_THE_APPLICATION_ALONE: ReadonlySet<string> = new Set([
  'allowExitOnIdle',
  'binary',
  'connectionTimeoutMillis',
  'idleTimeoutMillis',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'log',
  'max',
  'maxLifetimeSeconds',
  'maxUses',
  'min',
  'pipeline',
  'poolSize',
  'query_timeout',
  'statement_timeout',
  'types',
]);

/** The engine's connections, from what the application's pool was made of. */
export function engineConfig(options: ConnectionConfig, applicationName: string): ConnectionConfig {
  return {
    ...accessOf(options),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  };
}

/** The connections for callers' writes: with the application's name, and its limits where they are tighter. */
export function callersConfig(options: ConnectionConfig): ConnectionConfig {
  return {
    ...accessOf(options),
    connectionTimeoutMillis: tighter(options.connectionTimeoutMillis, CONNECT_TIMEOUT_MS),
    query_timeout: queryTimeoutMsOf(options),
  };
}

/** How long a statement of a caller without a transaction may take, on whatever connection. */
export const queryTimeoutMsOf = (options: ConnectionConfig): number =>
  tighter(options.query_timeout, QUERY_TIMEOUT_MS);

/**
 * A copy of all but {@link OF_THE_APPLICATION_ALONE}. It copies properties that are not enumerable too, since
 * pg's pool hides the password in one of them.
 */
function accessOf(options: ConnectionConfig): ConnectionConfig {
  const given = Object.getOwnPropertyNames(options)
    .filter((name) => !OF_THE_APPLICATION_ALONE.has(name))
    .map((name) => [name, Reflect.get(options, name) as unknown]);
  return {
    ...(Object.fromEntries(given) as ConnectionConfig),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** A limit that is left out, that is 0, or that is no number, means "no limit". */
function tighter(givenMs: unknown, oursMs: number): number {
  const ms = Number(givenMs);
  return ms > 0 ? Math.min(ms, oursMs) : oursMs;
}

/** Settings of a session, by name. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * The settings of the engine's sessions, whatever the role, the database or the distribution has set. Sent
 * before the first statement, on sessions that are known to be this process's own.
 *
 * A plan that is kept must be good for any size of the table, not for the one it had when the plan
 * was made. Every statement of the engine has an index to go by, so a generic plan without a
 * sequential scan is the right one, and Postgres need not think about it again. Before Postgres 18
 * "without" is written as costs of ten billion, for which `jit = on`, the default, compiles each
 * execution anew: 66 to 492 ms on an empty table.
 *
 * A statement that the server itself gives up has not happened. What became of a statement on a silent connection is
 * unknown. So the server's limit is a little shorter than the limit of the client that waits. It also ends
 * statements that wait for a lock and whose client has gone. All other limits are off: a listener is idle for hours.
 *
 * `search_path`: another role may have created a function or an operator in a schema of it, and its code would run with
 * the rights of the application (docs/adr/0056). No statement of ours goes by it where there is a choice, since a pooler's
 * sessions are told nothing. A trigger of the application's on our tables finds its own by their schemas.
 *
 * Not ours to change: `synchronous_commit`, which is how durable the application wants its writes, and
 * `default_transaction_read_only`, `row_security` and `role`, which are what it may do.
 */
const COMMON: SessionSettings = {
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  transaction_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  array_nulls: 'on',
  DateStyle: 'ISO, MDY',
  extra_float_digits: '1',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  transform_null_equals: 'off',
  search_path: 'pg_catalog, pg_temp',
};

/** The server's limit, as a share of the client's. */
const SERVER_SHARE = 2 / 3;

/** @param queryTimeoutMs the client's limit: it waits no longer for an answer */
export const engineSettings = (queryTimeoutMs: number): SessionSettings => ({
  ...COMMON,
  statement_timeout: String(Math.ceil(queryTimeoutMs * SERVER_SHARE)),
});

/**
 * The same for statements that find their rows by name and key. While a table is empty, a bitmap of the
 * whole index looks as cheap as a look-up for each key, and that plan would be kept.
 */
export const callersSettings = (queryTimeoutMs: number): SessionSettings => ({
  ...engineSettings(queryTimeoutMs),
  enable_bitmapscan: 'off',
});

/** Parameters: names[], values[]. Settings that this version of the server does not have are left out. */
export const SETTINGS_SQL = `
SELECT pg_catalog.set_config(s.name, s.value, false) FROM unnest($1::text[], $2::text[]) AS s(name, value)
WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL`;

/** Until the session ends. */
export async function bring(client: ClientBase, settings: SessionSettings): Promise<void> {
  await client.query(SETTINGS_SQL, [Object.keys(settings), Object.values(settings)]);
}
