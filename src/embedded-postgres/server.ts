import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.js';
import { isInitialized, type DataFolder } from './data-folder.js';
import { codeOf, EmbeddedPostgresError } from './embedded-postgres.error.js';
import { freePort, HOST } from './free-port.js';
import { handOver, initialize, isAlive, SETTINGS_FILE } from './initialize.js';
import type { OperatingUser } from './operating-user.js';
import { run } from './program.js';

/** Distinguishes the embedded server from any other. */
export const CLUSTER_NAME = 'embedded';

const START_TIMEOUT_SECONDS = 60;
const STOP_TIMEOUT_MS = 60_000;
const LOG_LIMIT_BYTES = 10_000_000;

/** `running`: Postgres has a port. Only a connection shows whether it accepts connections yet. */
export type ServerState =
  | { state: 'stopped' }
  | { state: 'starting' }
  | { state: 'running'; url: string };

/** The server of one data folder: starts it, stops it, and finds out whether it runs. */
export class Server {
  private readonly data: string;
  private readonly pidFile: string;
  private readonly logFile: string;
  private readonly portFile: string;

  constructor(
    private readonly binaries: Binaries,
    readonly folder: DataFolder,
    private readonly settings: Record<string, string | number>,
    private readonly log: (line: string) => void = () => {},
  ) {
    this.data = join(folder.path, 'data');
    this.pidFile = join(this.data, 'postmaster.pid');
    this.logFile = join(this.data, 'server.log');
    this.portFile = join(folder.path, 'port');
  }

  /** Reads Postgres' pid file: line 1 is its process, line 4 its port. */
  async look(): Promise<ServerState> {
    const text = await readFile(this.pidFile, 'utf8').catch(() => undefined);
    if (text === undefined) return { state: 'stopped' };
    const [pid, , , port] = text.split('\n');
    if (!isAlive(Number(pid))) return { state: 'stopped' };
    if (!(await isPostgres(Number(pid)))) {
      // After a crash another process got that id. Postgres would refuse to start as long as that
      // one lives. Without the file it still refuses while its shared memory is in use.
      await rm(this.pidFile, { force: true });
      return { state: 'stopped' };
    }
    return port ? { state: 'running', url: await this.url(Number(port)) } : { state: 'starting' };
  }

  async start(): Promise<void> {
    if (!(await isInitialized(this.folder, this.binaries.majorVersion))) {
      this.log(`Creating a Postgres in ${this.folder.path}, only this once`);
      await initialize(this.binaries, this.folder, this.settings.fsync !== 'off');
    }
    // Without it the server would run, but accept no connection.
    await this.password();
    await this.writeSettings();
    await this.dropLargeLog();
    const args = ['start', '-D', this.data, '-l', this.logFile, '-w', '-t'];
    try {
      await run(
        this.binaries.pgCtl,
        [...args, String(START_TIMEOUT_SECONDS)],
        this.folder.user,
        'ignored',
      );
    } catch {
      // Another process started it at the same moment: it runs, and that is what counts.
      const { state } = await this.look();
      if (state === 'stopped') throw await this.startFailure();
    }
    await this.rememberPort();
  }

  /**
   * @param mode `immediate` is a crash: it waits for no session, and the next start recovers
   * @throws EmbeddedPostgresError when it still runs after `timeoutMs`
   */
  async stop(mode: 'fast' | 'immediate' = 'fast', timeoutMs = STOP_TIMEOUT_MS): Promise<void> {
    const timeoutSeconds = String(Math.ceil(timeoutMs / 1_000));
    const args = ['stop', '-D', this.data, '-m', mode, '-w', '-t', timeoutSeconds];
    await run(this.binaries.pgCtl, args, this.folder.user, 'ignored');
  }

  private async url(port: number): Promise<string> {
    const password = await this.password();
    return `postgresql://postgres:${password.trim()}@${HOST}:${port}/postgres`;
  }

  private async password(): Promise<string> {
    const file = join(this.folder.path, 'password');
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      throw new EmbeddedPostgresError(
        `The embedded Postgres' password cannot be read (${codeOf(error)}: ${file}). Restore it, ` +
          `move ${this.folder.path} away to start over, or set DATABASE_URL.`,
      );
    }
  }

  private async writeSettings(): Promise<void> {
    const port = await freePort(await this.rememberedPort());

    const fixed = {
      port,
      listen_addresses: HOST,
      unix_socket_directories: '',
      cluster_name: CLUSTER_NAME,
    };
    const lines = Object.entries({ ...this.settings, ...fixed }).map(
      ([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'`,
    );
    // Replaced as a whole: another process that starts may read it now.
    const file = join(this.data, SETTINGS_FILE);
    await replace(file, `${lines.join('\n')}\n`, this.folder.user);
  }

  private rememberedPort(): Promise<number> {
    return readFile(this.portFile, 'utf8').then(Number, () => 0);
  }

  /** Saves the port that it runs on, whichever process started it. */
  private async rememberPort(): Promise<void> {
    const seen = await this.look();
    if (seen.state !== 'running') return;
    const { port } = new URL(seen.url);
    if (Number(port) !== (await this.rememberedPort())) await replace(this.portFile, port);
  }

  private async dropLargeLog(): Promise<void> {
    const found = await stat(this.logFile).catch(() => undefined);
    if (found && found.size > LOG_LIMIT_BYTES) await rm(this.logFile, { force: true });
  }

  private async startFailure(): Promise<EmbeddedPostgresError> {
    const log = await readFile(this.logFile, 'utf8').catch(() => '');
    const end = log.trim().split('\n').slice(-5).join('\n');
    return new EmbeddedPostgresError(
      `The embedded Postgres in ${this.folder.path} does not start. ` +
        `Its log ends with:\n${end}\nMove the folder away to start over, or set DATABASE_URL.`,
    );
  }
}

/** Without /proc, any live process counts as the server. */
async function isPostgres(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return name.trim() === 'postgres';
}

async function replace(file: string, text: string, user?: OperatingUser): Promise<void> {
  const next = `${file}.new-${process.pid}`;
  await writeFile(next, text, { mode: 0o600 });
  await handOver(next, user);
  await rename(next, file);
}
