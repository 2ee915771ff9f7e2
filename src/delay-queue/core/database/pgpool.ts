import type { Client } from 'pg';
import { ON_PRIMARY } from './tables.js';

const ADVICE =
  'pgpool takes a healthy server out of service when one of its sessions ends there, and a node ends the ' +
  'session of a transactional handler that overruns its timeout: set failover_on_backend_error = off in pgpool.conf';

/**
 * Finds pgpool out, which looks like a server. Elsewhere its own command is an error in the server's log, so it is
 * only sent where something stands between that names the server's session, as PgBouncer does not.
 *
 * @returns advice, where pgpool would take a server out of service
 */
export async function adviceOfPgpool(client: Client): Promise<string | undefined> {
  const { processID, connection } = client as unknown as Internals;
  const { rows } = await client.query<PooledSession>(
    `${ON_PRIMARY} SELECT pg_catalog.inet_client_port()::text AS port, pg_catalog.pg_backend_pid()::text AS pid`,
  );
  const [session] = rows;
  if (session === undefined || session.port === null) return undefined;
  const { localPort } = connection.stream;
  if (session.port === String(localPort) || session.pid !== String(processID)) return undefined;
  const { rows: answers } = await client.query<{ failover_on_backend_error: string }>(
    'PGPOOL SHOW failover_on_backend_error',
  );
  return answers[0]?.failover_on_backend_error === 'on' ? ADVICE : undefined;
}

interface PooledSession {
  /** The client's port as the server sees it; null over a Unix socket. */
  port: string | null;
  pid: string;
}

/** What `pg` does not declare. */
interface Internals {
  processID: number | null;
  connection: { stream: { localPort?: number } };
}
