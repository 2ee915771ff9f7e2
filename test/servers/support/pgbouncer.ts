import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type QueryResultRow } from 'pg';
import { freePort, HOST } from '../../../src/embedded-postgres/free-port.js';
import { operatingUser } from '../../../src/embedded-postgres/operating-user.js';
import { Leashed } from './leashed.js';
import { findProgram } from './programs.js';

const READY_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** PgBouncer's own database: `SHOW SERVERS` and the like. */
const CONSOLE = 'pgbouncer';

export interface PgBouncerOptions {
  /** The server behind it; its user may do everything here as well. */
  serverUrl: string;
  /** Of all databases but those of `sessionDatabases`; default: 'transaction'. */
  mode?: 'transaction' | 'statement';
  /** Server connections for each database and user. */
  poolSize: number;
  /** Databases that are pooled by session. */
  sessionDatabases?: string[];
  /** When an unused server connection is closed. Default: PgBouncer's own ten minutes. */
  serverIdleSeconds?: number;
}

/** A PgBouncer in front of a server. */
export class PgBouncer {
  #process: Leashed | undefined;

  /** Undefined where the program is not installed. */
  static program(): string | undefined {
    return findProgram('pgbouncer');
  }

  /** Everything it needs stands in a folder of its own, readable by the user it runs as alone. */
  static async start(options: PgBouncerOptions): Promise<PgBouncer> {
    const user = await operatingUser('');
    const folder = await mkdtemp(join(tmpdir(), 'delay-queue-pgbouncer-'));
    const url = new URL(options.serverUrl);
    url.hostname = HOST;
    url.port = String(await freePort(0));
    const { username, password } = url;
    await writeFile(
      join(folder, 'users.txt'),
      `"${username}" "${decodeURIComponent(password)}"\n`,
      { mode: 0o600 },
    );
    const text = settings(options, Number(url.port), folder);
    await writeFile(join(folder, 'pgbouncer.ini'), text, { mode: 0o600 });
    await chmod(folder, 0o700);
    if (user) {
      for (const name of ['', 'users.txt', 'pgbouncer.ini']) {
        await chown(join(folder, name), user.uid, user.gid);
      }
    }
    const bouncer = new PgBouncer(url.href, folder);
    await bouncer.restart();
    return bouncer;
  }

  private constructor(
    /** Leads through it to the database of the server's URL. */
    readonly url: string,
    private readonly folder: string,
  ) {}

  /** The same database as a server's URL names, through it. */
  through(serverUrl: string): string {
    const url = new URL(this.url);
    url.pathname = new URL(serverUrl).pathname;
    return url.href;
  }

  /** Ends it at once, and with it every connection through it; then starts it again. */
  async restart(): Promise<void> {
    await this.#process?.end('SIGKILL');
    const program = PgBouncer.program();
    if (program === undefined) throw new Error('pgbouncer is not installed');
    this.#process = Leashed.start(program, [join(this.folder, 'pgbouncer.ini')], {
      user: await operatingUser(''),
      lastSignal: 'KILL',
    });
    await this.#ready(this.#process);
  }

  /** Asks its console. */
  async ask<Row extends QueryResultRow>(command: string): Promise<Row[]> {
    const client = new Client({ connectionString: this.through(`postgresql:///${CONSOLE}`) });
    await client.connect();
    try {
      return (await client.query<Row>(command)).rows;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    await this.#process?.end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  async #ready(process: Leashed): Promise<void> {
    const giveUpAtMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      try {
        await this.ask('SHOW VERSION');
        return;
      } catch (error) {
        if (!process.running || performance.now() > giveUpAtMs) {
          await process.end('SIGKILL');
          throw new Error(`pgbouncer does not answer:\n${process.output}`, { cause: error });
        }
      }
      await pause(LOOK_EVERY_MS);
    }
  }
}

/** Nothing is ignored that a client asks for: what the library sends has to be acceptable. */
function settings(options: PgBouncerOptions, port: number, folder: string): string {
  const { hostname, port: serverPort, username } = new URL(options.serverUrl);
  const server = `host=${hostname} port=${serverPort || 5432}`;
  const bySession = options.sessionDatabases ?? [];
  return [
    '[databases]',
    ...bySession.map((database) => `${database} = ${server} pool_mode=session`),
    `* = ${server}`,
    '[pgbouncer]',
    `listen_addr = ${HOST}`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    `pool_mode = ${options.mode ?? 'transaction'}`,
    `default_pool_size = ${options.poolSize}`,
    'max_client_conn = 2000',
    ...(options.serverIdleSeconds === undefined
      ? []
      : [`server_idle_timeout = ${options.serverIdleSeconds}`]),
    'auth_type = scram-sha-256',
    `auth_file = ${join(folder, 'users.txt')}`,
    // Roles that a test makes are not in the file.
    `auth_user = ${username}`,
    `admin_users = ${username}`,
    'log_connections = 0',
    'log_disconnections = 0',
    '',
  ].join('\n');
}
