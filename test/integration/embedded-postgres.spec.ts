import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { locateBinaries } from '../../src/embedded-postgres/binaries.js';
import { openDataFolder } from '../../src/embedded-postgres/data-folder.js';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { Server } from '../../src/embedded-postgres/server.js';
import { NodeProcess } from '../support/node-process.js';
import { serverFolder } from '../support/server-folder.js';

type Report = { url?: string; keeperPid?: number; log?: string };

const SETTINGS = { fsync: 'off' };

/** A folder that was used once, and of which each test gets a copy. */
let used: string;
let parent: string;
let dataDir: string;

async function emptyFolder(): Promise<string> {
  const folder = serverFolder('embedded-postgres');
  await mkdir(folder);
  // Root runs Postgres as another user, who has to get in.
  await chmod(folder, 0o755);
  return folder;
}

beforeAll(async () => {
  used = await emptyFolder();
  dataDir = join(used, 'postgres');
  await (await start()).stop();
});

beforeEach(async () => {
  parent = await emptyFolder();
  dataDir = join(parent, 'postgres');
  execFileSync('cp', ['-a', join(used, 'postgres'), dataDir]);
});

afterEach(() => rm(parent, { recursive: true, force: true }));

afterAll(() => rm(used, { recursive: true, force: true }));

const start = () => startEmbeddedPostgres({ dataDir, settings: SETTINGS });

async function startUser() {
  const process = NodeProcess.start<Report>('test/integration/fixtures/postgres-user.ts', {
    args: [dataDir],
  });
  const { url = '', keeperPid = 0 } = await process.waitFor((message) => message.url !== undefined);
  return { process, url, keeperPid };
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = await connect(url);
  const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
  await client.end();
  return rows.flat();
}

const pidFile = () => join(dataDir, 'data', 'postmaster.pid');

async function serverPid(): Promise<number> {
  return Number((await readFile(pidFile(), 'utf8')).split('\n')[0]);
}

/** Postgres removes its pid file as the last thing it does. */
async function serverStopped(): Promise<void> {
  while (existsSync(pidFile())) await pause(5);
}

describe('the embedded Postgres', () => {
  test('is made once; it keeps its data, its password and its port over a restart', async () => {
    dataDir = join(parent, 'new');
    const told: string[] = [];
    const begin = () =>
      startEmbeddedPostgres({ dataDir, settings: SETTINGS, log: (line) => told.push(line) });
    const first = await begin();
    await ask(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    expect(existsSync(pidFile())).toBe(false);

    const second = await begin();
    expect(second.url).toBe(first.url);
    expect(await ask(second.url, 'SELECT answer FROM kept')).toEqual([42]);
    expect(told).toEqual([`Creating a Postgres in ${dataDir}, only this once`]);
    const listens = `SELECT current_setting('listen_addresses'), current_setting('unix_socket_directories')`;
    expect(await ask(second.url, listens)).toEqual(['127.0.0.1', '']);
    const wrong = new URL(second.url);
    wrong.password = 'guessed';
    await expect(connect(wrong.href)).rejects.toMatchObject({ code: '28P01' });
    await second.stop();
  });

  test.each<[what: string, spoil: () => Promise<void>, says: RegExp]>([
    [
      'its folder cannot be written',
      async () => {
        dataDir = join(parent, 'a-file', 'postgres');
        await writeFile(join(parent, 'a-file'), '');
      },
      /cannot write into .*a-file \(E\w+\)\. Make it writable, /,
    ],
    [
      'its password is lost: nobody could enter the server',
      () => rm(join(dataDir, 'password')),
      /password cannot be read \(ENOENT: .*password\)\. Restore it, move .* away to start over/,
    ],
    [
      'its data are of another version',
      () => writeFile(join(dataDir, 'data', 'PG_VERSION'), '9\n'),
      /holds data of Postgres 9.*Move it away.*DATABASE_URL/s,
    ],
  ])('starts no server, and says what to do, when %s', async (_, spoil, says) => {
    await spoil();
    await expect(start()).rejects.toThrow(says);
    expect(existsSync(pidFile())).toBe(false);
  });

  test('serves two users, and stops only with the last of them, however that ends', async () => {
    const [first, second] = await Promise.all([startUser(), startUser()]);
    expect(second.url).toBe(first.url);
    const witness = await connect(second.url);
    const { rows: before } = await witness.query('SELECT pg_postmaster_start_time()');

    await first.process.kill('SIGKILL');
    // The dead user's keeper is gone from the server once it has decided to leave it running.
    const keepers = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'embedded-postgres keeper'`;
    while ((await ask(second.url, keepers))[0] !== 1) await pause(5);

    const { rows: after } = await witness.query('SELECT pg_postmaster_start_time()');
    expect(after).toEqual(before);
    const cut = new Promise<void>((resolve) => witness.once('end', resolve));
    await second.process.kill('SIGKILL');
    await cut;
    await serverStopped();
  });

  test('can be left and joined at the same moment; a temporary folder goes with the last user', async () => {
    const come = () => startEmbeddedPostgres({ dataDir, settings: SETTINGS, temporary: true });
    let leaving = await come();
    for (let round = 0; round < 2; round++) {
      const [joined] = await Promise.all([come(), leaving.stop()]);
      expect(await ask(joined.url, 'SELECT 1')).toEqual([1]);
      leaving = joined;
    }
    await leaving.stop();
    expect(existsSync(dataDir)).toBe(false);
  });

  test('is not left running by a process that dies while its keeper is still on its way', async () => {
    const keeper = fork(
      fileURLToPath(new URL('../../src/embedded-postgres/keeper.ts', import.meta.url)),
      [JSON.stringify({ dataDir, settings: SETTINGS })],
      { execArgv: ['--import', new URL('../../tools/swc-loader.mjs', import.meta.url).href] },
    );
    // As the end of its parent does.
    keeper.disconnect();
    expect(await once(keeper, 'exit')).toEqual([0, null]);
    expect(existsSync(pidFile())).toBe(false);
  });

  test('of two that start it at once, the port of the one that won is kept', async () => {
    const postgres = await start();
    const binaries = await locateBinaries(undefined);
    const folder = await openDataFolder(dataDir, () => {});
    await new Server(binaries, folder, SETTINGS).start();
    expect(await readFile(join(dataDir, 'port'), 'utf8')).toBe(new URL(postgres.url).port);
    await postgres.stop();
  });

  test('adopts a server that lost its keeper', async () => {
    const user = await startUser();
    const pid = await serverPid();
    process.kill(user.keeperPid, 'SIGKILL');
    await user.process.waitFor((message) => message.log?.includes('keeper') ?? false);
    await user.process.kill('SIGKILL');

    const heir = await start();
    expect(await serverPid()).toBe(pid);
    await heir.stop();
    expect(existsSync(pidFile())).toBe(false);
  });

  test('lets its lock go when Postgres does not stop; the next start says what it waits for, and joins', async () => {
    const told: string[] = [];
    const log = (line: string) => void told.push(line);
    const postgres = await startEmbeddedPostgres({
      dataDir,
      settings: SETTINGS,
      stopTimeoutMs: 1_000,
      log,
    });
    const pid = await serverPid();
    process.kill(pid, 'SIGSTOP');
    try {
      await postgres.stop();
      expect(told).toEqual([expect.stringMatching(/did not stop: it still runs/)]);

      const next = startEmbeddedPostgres({
        dataDir,
        settings: SETTINGS,
        joinTimeoutMs: 3_000,
        log,
      });
      await expect(next).rejects.toThrow(/cannot be reached: .*Stop the process named in/);
      expect(told.at(-1)).toMatch(/runs, but cannot be used yet \(.+\); trying for 3 s/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await serverStopped();
    const heir = await start();
    expect(await ask(heir.url, 'SELECT 1')).toEqual([1]);
    await heir.stop();
  });

  test('comes back when the server itself is killed', async () => {
    const user = await startUser();
    await ask(user.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    process.kill(await serverPid(), 'SIGKILL');
    await user.process.waitFor((message) => message.log?.includes('is back') ?? false);
    expect(await ask(user.url, 'SELECT answer FROM kept')).toEqual([42]);
    user.process.send({ stop: true });
    expect(await user.process.exited).toEqual({ code: 0, signal: null });
  });

  test('starts although its pid file names another process, on another port when its own is in use', async () => {
    const first = await start();
    const content = await readFile(pidFile(), 'utf8');
    const pid = await serverPid();
    await first.stop();
    await writeFile(pidFile(), content.replace(String(pid), String(process.pid)));
    const squatter = createServer().listen(Number(new URL(first.url).port), '127.0.0.1');
    await once(squatter, 'listening');

    const second = await start();
    expect(await ask(second.url, 'SELECT 1')).toEqual([1]);
    expect(new URL(second.url).port).not.toBe(new URL(first.url).port);
    await second.stop();
    squatter.close();
  });
});
