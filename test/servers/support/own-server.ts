import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { delayQueueMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import {
  type Binaries,
  binariesIn,
  locateBinaries,
} from '../../../src/embedded-postgres/binaries.js';
import { openDataFolder, type DataFolder } from '../../../src/embedded-postgres/data-folder.js';
import { freePort, HOST } from '../../../src/embedded-postgres/free-port.js';
import { initialize, SETTINGS_FILE } from '../../../src/embedded-postgres/initialize.js';
import { run } from '../../../src/embedded-postgres/program.js';
import { serverFolder } from '../../support/server-folder.js';
import { Leashed } from './leashed.js';

const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 20;

type Locate = (user: DataFolder['user']) => Promise<Binaries>;

/** A folder with the programs of a Postgres. */
export const programsIn =
  (path: string): Locate =>
  () =>
    binariesIn(path);

export type Settings = Record<string, string | number>;

/** A Postgres of one test, which may be killed, copied and promoted. */
export class OwnServer {
  #process: Leashed | undefined;

  /**
   * Made and not started yet.
   * @param locate where another Postgres than the embedded one lies
   */
  static async create(settings: Settings, locate: Locate = locateBinaries): Promise<OwnServer> {
    const folder = await openDataFolder(newPath(), () => {});
    const binaries = await locate(folder.user);
    await initialize(binaries, folder, false);
    return OwnServer.#in(folder, binaries, settings);
  }

  static async #in(folder: DataFolder, binaries: Binaries, settings: Settings): Promise<OwnServer> {
    const password = (await readFile(join(folder.path, 'password'), 'utf8')).trim();
    const port = await freePort(0);
    const url = `postgresql://postgres:${password}@${HOST}:${port}/postgres`;
    const server = new OwnServer(folder, binaries, url, settings);
    await server.configure({});
    return server;
  }

  private constructor(
    private readonly folder: DataFolder,
    private readonly binaries: Binaries,
    /** Its database `postgres`. */
    readonly url: string,
    private settings: Settings,
  ) {}

  /** Takes effect at the next start, or at `pg_reload_conf()`. */
  async configure(settings: Settings): Promise<void> {
    this.settings = { ...this.settings, ...settings };
    const fixed: Settings = { port: new URL(this.url).port, listen_addresses: HOST };
    const all: Settings = { unix_socket_directories: '', ...this.settings, ...fixed };
    const lines = Object.entries(all).map(
      ([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`,
    );
    await writeFile(join(this.dataPath, SETTINGS_FILE), lines.join(''));
  }

  /** Where its files lie; only its own user may look in. */
  get dataPath(): string {
    return join(this.folder.path, 'data');
  }

  /** Writes a file there, for its own user alone. */
  async put(name: string, text: string): Promise<void> {
    const path = join(this.dataPath, name);
    await writeFile(path, text, { mode: 0o600 });
    const { user } = this.folder;
    if (user) await chown(path, user.uid, user.gid);
  }

  /** Resolves when it lets somebody in. */
  async start(): Promise<void> {
    const program = join(dirname(this.binaries.pgCtl), 'postgres');
    const process = Leashed.start(program, ['-D', this.dataPath], {
      user: this.folder.user,
      lastSignal: 'QUIT',
    });
    this.#process = process;
    const giveUpAtMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      try {
        await this.sql('SELECT 1');
        return;
      } catch (error) {
        if (!process.running || performance.now() > giveUpAtMs) {
          await process.end('SIGQUIT');
          throw new Error(`Postgres does not start:\n${process.output}`, { cause: error });
        }
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  /** Without a checkpoint and without goodbye: what is not in the WAL is lost. */
  async crash(): Promise<void> {
    await this.#process?.end('SIGQUIT');
  }

  /** Ends all sessions and writes everything down. */
  async stop(): Promise<void> {
    await this.#process?.end('SIGINT');
  }

  async remove(): Promise<void> {
    await this.crash();
    await rm(this.folder.path, { recursive: true, force: true });
  }

  /**
   * A replica that follows this server once both are started; this one must be stopped now. A copy of
   * a stopped server's files needs no `pg_basebackup`, which not every machine has.
   */
  async replica(name: string, settings: Settings): Promise<OwnServer> {
    const folder = { ...this.folder, path: newPath() };
    await mkdir(folder.path);
    await chmod(folder.path, folder.user ? 0o711 : 0o700);
    for (const part of ['data', 'password']) {
      await run('cp', ['-a', join(this.folder.path, part), folder.path], undefined);
    }
    await writeFile(join(folder.path, 'data', 'standby.signal'), '');
    const { hostname, port, username, password } = new URL(this.url);
    return OwnServer.#in(folder, this.binaries, {
      ...settings,
      primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password} application_name=${name}`,
    });
  }

  /** Makes the library's tables in its database `postgres`. */
  async migrate(): Promise<void> {
    const migrations = delayQueueMigrations();
    const source = new DataSource({ type: 'postgres', url: this.url, migrations });
    await source.initialize();
    try {
      await source.runMigrations();
    } finally {
      await source.destroy();
    }
  }

  /** On a connection of its own, to the database `postgres`. */
  async sql<Row extends object>(text: string): Promise<Row[]> {
    const client = new Client({ connectionString: this.url });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }
}

const newPath = (): string => serverFolder('delay-queue-server');
