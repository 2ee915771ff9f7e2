import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { codeOf, EmbeddedPostgresError, messageOf } from './embedded-postgres.error.js';
import type { Server } from './server.js';

/** Covers crash recovery after an unclean stop, which holds back connections. */
const JOIN_TIMEOUT_MS = 60_000;
const RETRY_PAUSE_MS = 25;

const AUTHORIZATION_ERROR_CLASS = '28';

/** Two 32-bit keys: apart from the 64-bit keys that migrations and applications use. */
const PRESENCE_LOCK = '1701997669, 1886217572';

/** A user's place in a running server: a connection that holds a shared advisory lock. */
export class Presence {
  /** Resolves when the connection ends, for whatever cause. */
  readonly lost: Promise<'lost'>;

  private constructor(
    readonly url: string,
    private readonly client: Client,
  ) {
    this.lost = new Promise((resolve) => {
      client.once('end', () => resolve('lost'));
    });
  }

  /** Waits behind a user that is just stopping the server, and then fails with its connection. */
  static async enter(url: string): Promise<Presence> {
    const client = new Client({
      connectionString: url,
      application_name: 'embedded-postgres keeper',
      connectionTimeoutMillis: 5_000,
    });
    const presence = new Presence(url, client);
    client.on('error', () => {});
    await client.connect();
    await client.query(`SELECT pg_advisory_lock_shared(${PRESENCE_LOCK})`);
    return presence;
  }

  /** Gives up the shared lock; true when nobody else holds it: the server is then ours to stop. */
  async leaveAsLast(): Promise<boolean> {
    try {
      await this.client.query(`SELECT pg_advisory_unlock_shared(${PRESENCE_LOCK})`);
      const { rows } = await this.client.query<{ last: boolean }>(
        `SELECT pg_try_advisory_lock(${PRESENCE_LOCK}) AS last`,
      );
      return rows[0]?.last ?? false;
    } catch {
      // The server went first. What is left of it, the next start adopts or recovers.
      return false;
    }
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => {});
  }
}

/** Enters the running server, or starts it. Safe against others who start or stop it meanwhile. */
export async function joinServer(server: Server): Promise<Presence> {
  const deadline = performance.now() + JOIN_TIMEOUT_MS;
  let lastError = 'it did not answer';
  while (performance.now() < deadline) {
    const seen = await server.look();
    if (seen.state === 'stopped') {
      await server.start();
      continue;
    }
    try {
      if (seen.state === 'running') return await Presence.enter(seen.url);
    } catch (error) {
      lastError = messageOf(error);
      if (codeOf(error).startsWith(AUTHORIZATION_ERROR_CLASS))
        throw wrongPassword(server, lastError);
    }
    await pause(RETRY_PAUSE_MS);
  }
  throw new EmbeddedPostgresError(
    `The embedded Postgres in ${server.folder.path} cannot be reached: ${lastError}. ` +
      'Stop the process named in data/postmaster.pid there, or set DATABASE_URL to another server.',
  );
}

function wrongPassword(server: Server, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The password kept in ${server.folder.path} does not open its server (${reason}). ` +
      'Put the right one into the file `password` there, or set DATABASE_URL.',
  );
}
