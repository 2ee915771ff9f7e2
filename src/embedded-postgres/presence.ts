import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { codeOf, EmbeddedPostgresError, messageOf } from './embedded-postgres.error.js';
import type { Server } from './server.js';

/** Covers crash recovery after an unclean stop, which delays connections. */
const JOIN_TIMEOUT_MS = 60_000;
const RETRY_PAUSE_MS = 25;
/** A frozen server answers nothing and closes nothing. */
const ANSWER_TIMEOUT_MS = 5_000;

/** A start that takes longer logs what it waits for. */
const TELL_AFTER_MS = 2_000;

const AUTHORIZATION_ERROR_CLASS = '28';

/** Two 32-bit keys, so they never collide with the 64-bit keys of migrations and applications. */
const PRESENCE_LOCK = '1701997669, 1886217572';

/** One user of a running server: a connection that holds a shared advisory lock. */
export class Presence {
  /** Resolves when the connection ends, for whatever reason. */
  readonly lost: Promise<'lost'>;

  private constructor(
    readonly url: string,
    private readonly client: Client,
  ) {
    this.lost = new Promise((resolve) => {
      client.once('end', () => resolve('lost'));
    });
  }

  /** @throws also while another user is stopping the server */
  static async enter(url: string): Promise<Presence> {
    const client = new Client({
      connectionString: url,
      application_name: 'embedded-postgres keeper',
      connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
    });
    const presence = new Presence(url, client);
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ entered: boolean }>(
        `SELECT pg_try_advisory_lock_shared(${PRESENCE_LOCK}) AS entered`,
      );
      if (!rows[0]?.entered) throw new EmbeddedPostgresError('another process is stopping it');
      return presence;
    } catch (error) {
      await presence.close();
      throw error;
    }
  }

  /**
   * Releases the shared lock. True if no other process holds it: the server is then ours to stop.
   */
  async leaveAsLast(): Promise<boolean> {
    try {
      await this.client.query(`SELECT pg_advisory_unlock_shared(${PRESENCE_LOCK})`);
      const { rows } = await this.client.query<{ last: boolean }>(
        `SELECT pg_try_advisory_lock(${PRESENCE_LOCK}) AS last`,
      );
      return rows[0]?.last ?? false;
    } catch {
      // The server went first. The next start adopts or recovers what is left of it.
      return false;
    }
  }

  async close(): Promise<void> {
    const gaveUp = new AbortController();
    const closed = this.client.end().catch(() => {});
    await Promise.race([closed, pause(ANSWER_TIMEOUT_MS, undefined, gaveUp).catch(() => {})]);
    gaveUp.abort();
    this.client.connection.stream.destroy();
  }
}

/** Joins the running server, or starts it. Safe against concurrent starts and stops. */
export async function joinServer(
  server: Server,
  timeoutMs = JOIN_TIMEOUT_MS,
  log: (line: string) => void = () => {},
): Promise<Presence> {
  const deadline = performance.now() + timeoutMs;
  let lastError = 'it did not answer';
  let triesSinceMs: number | undefined;
  let hasTold = false;
  while (performance.now() < deadline) {
    const seen = await server.look();
    if (seen.state === 'stopped') {
      await server.start();
      continue;
    }
    triesSinceMs ??= performance.now();
    try {
      if (seen.state === 'running') return await Presence.enter(seen.url);
    } catch (error) {
      lastError = messageOf(error);
      if (codeOf(error).startsWith(AUTHORIZATION_ERROR_CLASS))
        throw wrongPassword(server, lastError);
    }
    if (!hasTold && performance.now() - triesSinceMs > TELL_AFTER_MS) {
      hasTold = true;
      log(
        `The embedded Postgres in ${server.folder.path} runs, but cannot be used yet (${lastError}); ` +
          `trying for ${Math.ceil(timeoutMs / 1_000)} s`,
      );
    }
    await pause(RETRY_PAUSE_MS);
  }
  throw unreachable(server, lastError);
}

function unreachable(server: Server, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The embedded Postgres in ${server.folder.path} cannot be reached: ${reason}. ` +
      'Stop the process named in data/postmaster.pid there, or set DATABASE_URL to another server.',
  );
}

function wrongPassword(server: Server, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The password kept in ${server.folder.path} does not open its server (${reason}). ` +
      'Put the right one into the file `password` there, or set DATABASE_URL.',
  );
}
