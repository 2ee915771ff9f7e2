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
    query_timeout: queryTimeoutMs(options),
  };
}

/** How long a statement of a caller without a transaction may take, on whatever connection. */
export const queryTimeoutMs = (options: ConnectionConfig): number =>
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
