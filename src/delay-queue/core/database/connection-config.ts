import type { Client, ClientBase, PoolConfig } from 'pg';
import type { Queries } from './runner.js';

/** The options of `pg` and its pool, whose own types omit some. */
export type ConnectionConfig = Omit<PoolConfig, 'Client' | 'onConnect'> & {
  Client?: new (config: ConnectionConfig) => Client;
  /** Called for each new connection of a pool, before the pool hands it out. */
  onConnect?: (client: ClientBase) => Promise<unknown> | void;
};

/** A statement of ours takes milliseconds; one that hangs is on a half-open connection. */
export const QUERY_TIMEOUT_MS = 15_000;

/** By default `pg` waits forever on a connection that died silently. */
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * How the application uses its own pool. All other options say how to connect, and as which role,
 * and hold for the engine's connections too: a hook that sets the role, a client or a stream that
 * reaches the server in another way.
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

/** The engine's connections, from the options of the application's pool. */
export function engineConfig(options: ConnectionConfig, applicationName: string): ConnectionConfig {
  return {
    ...accessOptions(options),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  };
}

/** Connections for callers' writes: with the application's name, and its limits where tighter. */
export function callersConfig(options: ConnectionConfig): ConnectionConfig {
  return {
    ...accessOptions(options),
    connectionTimeoutMillis: tighter(options.connectionTimeoutMillis, CONNECT_TIMEOUT_MS),
    query_timeout: effectiveQueryTimeoutMs(options),
  };
}

/** Sessions for attempts, on which handlers run: as the application's, with its limits and its types. */
export function attemptsConfig(options: ConnectionConfig, max: number): ConnectionConfig {
  return {
    ...accessOptions(options, OF_THE_POOL_ALONE),
    connectionTimeoutMillis: tighter(options.connectionTimeoutMillis, CONNECT_TIMEOUT_MS),
    max,
    min: 0,
    idleTimeoutMillis: IDLE_MS,
  };
}

/** How long a connection of the engine stays open with nothing to do. */
export const IDLE_MS = 60_000;

/** How large the application's pool is, and how it sends. */
const OF_THE_POOL_ALONE: ReadonlySet<string> = new Set([
  'allowExitOnIdle',
  'idleTimeoutMillis',
  'max',
  'min',
  'pipeline',
  'poolSize',
]);

/** How long a caller's statement without a transaction may take, on any connection. */
export const effectiveQueryTimeoutMs = (options: ConnectionConfig): number =>
  tighter(options.query_timeout, QUERY_TIMEOUT_MS);

/** Copies all others, also those that are not enumerable: pg's pool hides the password in one. */
function accessOptions(
  options: ConnectionConfig,
  leftOut = OF_THE_APPLICATION_ALONE,
): ConnectionConfig {
  const given = Object.getOwnPropertyNames(options)
    .filter((name) => !leftOut.has(name))
    .map((name) => [name, Reflect.get(options, name) as unknown]);
  return {
    ...(Object.fromEntries(given) as ConnectionConfig),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** A limit that is missing, 0, or not a number means "no limit". */
function tighter(givenMs: unknown, oursMs: number): number {
  const ms = Number(givenMs);
  return ms > 0 ? Math.min(ms, oursMs) : oursMs;
}

/** Settings of a session, by name. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * The settings of the engine's sessions, whatever the role, the database or the distribution has
 * set; sent before the first statement, on sessions that are known to belong to this process.
 *
 * A kept plan must be good for any size of the table. Every statement can use an index, so a
 * generic plan without a sequential scan is right. Before Postgres 18, "without" adds costs of ten
 * billion, for which `jit = on`, the default, compiles each execution anew: 66 to 492 ms on an
 * empty table.
 *
 * The outcome of a statement on a silent connection is unknown; one that the server cancels has not
 * happened. So the server's limit is shorter than the client's, and ends statements that wait for a
 * lock after their client has gone. All other limits are off: a listener is idle for hours.
 *
 * `search_path`: code of another role in a schema of it would run with the application's rights
 * (docs/adr/0022). Our statements depend on it only where they must, because a pooler's sessions do
 * not get these settings.
 *
 * Not ours to set: `synchronous_commit`, which is how durable the application wants its writes, and
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

/** @param queryTimeoutMs how long the client waits for an answer */
export const engineSettings = (queryTimeoutMs: number): SessionSettings => ({
  ...COMMON,
  statement_timeout: String(Math.ceil(queryTimeoutMs * SERVER_SHARE)),
});

/**
 * The same for statements by name and key. While a table is empty, a bitmap of the whole index
 * looks as cheap as a lookup per key, and that plan would be kept.
 */
export const callersSettings = (queryTimeoutMs: number): SessionSettings => ({
  ...engineSettings(queryTimeoutMs),
  enable_bitmapscan: 'off',
});

/** For statements whose compilation would take longer than they run, on a session of others. */
export const UNCOMPILED: SessionSettings = { jit: 'off' };

/**
 * The planner follows indexes and reads no more than it returns. Such costs would always be
 * compiled.
 */
export const BY_INDEX: SessionSettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  ...UNCOMPILED,
};

/**
 * For a transaction that reads for a person, on a session that may be shared; it plans for its own
 * parameters.
 */
export const lookSettings = (statementTimeoutMs: number): SessionSettings => ({
  ...COMMON,
  ...BY_INDEX,
  plan_cache_mode: 'force_custom_plan',
  statement_timeout: String(statementTimeoutMs),
});

/** Parameters: names[], values[], whether they end with the transaction. Skips unknown settings. */
export const SETTINGS_SQL = `
SELECT pg_catalog.set_config(s.name, s.value, $3::boolean) FROM unnest($1::text[], $2::text[]) AS s(name, value)
WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL`;

/** Applies the settings. Only a session that belongs to this process may keep them. */
export async function bring(
  to: Queries,
  settings: SessionSettings,
  until: 'session ends' | 'transaction ends',
): Promise<void> {
  const isLocal = until === 'transaction ends';
  await to.query(SETTINGS_SQL, [Object.keys(settings), Object.values(settings), isLocal]);
}
