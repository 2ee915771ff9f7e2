import { randomBytes } from 'node:crypto';
import {
  appendFile,
  chmod,
  chown,
  mkdir,
  readdir,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Binaries } from './binaries.js';
import { codeOf } from './embedded-postgres.error.js';
import { isInitialized, type DataFolder } from './data-folder.js';
import type { OperatingUser } from './operating-user.js';
import { run } from './program.js';

/** Written before each start, and read by Postgres. */
export const SETTINGS_FILE = 'embedded.conf';

/**
 * Creates the data folder under another name and renames it when it is complete. A kill halfway
 * leaves no half database; of two processes that start at once, one wins and the other uses its
 * folder.
 */
export async function initialize(
  binaries: Binaries,
  folder: DataFolder,
  durable: boolean,
): Promise<void> {
  await removeUnfinished(folder.path);
  const unfinished = `${folder.path}.new-${process.pid}`;
  try {
    await create(binaries, { ...folder, path: unfinished }, durable);
    await rmdir(folder.path).catch(() => {});
    await rename(unfinished, folder.path);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!(await isInitialized(folder, binaries.majorVersion))) throw error;
  }
}

async function create(binaries: Binaries, folder: DataFolder, durable: boolean): Promise<void> {
  const data = join(folder.path, 'data');
  const password = join(folder.path, 'password');
  await mkdir(folder.path);
  // Postgres' user only has to pass through; its own folder below is closed to everyone else.
  await chmod(folder.path, folder.user ? 0o711 : 0o700);
  await mkdir(data, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600 });
  for (const path of [data, password]) await handOver(path, folder.user);

  const options = ['--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256'];
  const locale = ['--locale=C', '--encoding=UTF8'];
  const sync = durable ? [] : ['--no-sync'];
  await run(binaries.initdb, ['-D', data, ...options, ...locale, ...sync], folder.user);

  const settings = join(data, SETTINGS_FILE);
  await writeFile(settings, '', { mode: 0o600 });
  await handOver(settings, folder.user);
  await appendFile(join(data, 'postgresql.conf'), `\ninclude '${SETTINGS_FILE}'\n`);
}

/** Gives the path to the user that Postgres runs as, if that is another one. */
export async function handOver(path: string, user: OperatingUser | undefined): Promise<void> {
  if (user) await chown(path, user.uid, user.gid);
}

/** Removes what killed initializations left behind. The number in the name is the process id. */
async function removeUnfinished(path: string): Promise<void> {
  const prefix = `${basename(path)}.new-`;
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix) || isAlive(Number(name.slice(prefix.length)))) continue;
    await rm(join(dirname(path), name), { recursive: true, force: true });
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
