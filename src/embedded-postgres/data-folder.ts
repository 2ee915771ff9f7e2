import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, EmbeddedPostgresError } from './embedded-postgres.error.js';
import { canReach, operatingUser, reachableFolder, type OperatingUser } from './operating-user.js';

/**
 * Folder of one server. It appears as a whole (see `initialize.ts`), so its contents always match:
 *
 *     data/      Postgres' own files
 *     password   of the superuser, created once, mode 0600
 *     port       the last one used, tried first at the next start
 */
export interface DataFolder {
  path: string;
  /** The user that runs the server; `undefined`: the user of this process. */
  user: OperatingUser | undefined;
}

/** Chooses the folder: `requested`, unless root has to keep the data elsewhere. */
export async function openDataFolder(
  requested: string,
  log: (line: string) => void,
): Promise<DataFolder> {
  const user = await operatingUser(join(requested, 'data'));
  await makeWritable(dirname(requested));
  if (!user || canReach(dirname(requested), user)) return { path: requested, user };

  const id = createHash('sha256').update(requested).digest('hex').slice(0, 12);
  const outside = await reachableFolder(`embedded-postgres-data-${id}`, user);
  const path = join(outside, basename(requested));
  log(
    `Postgres runs as user ${user.uid}, who cannot enter ${dirname(requested)}: its data is in ${path}`,
  );
  return { path, user: (await operatingUser(join(path, 'data'))) ?? user };
}

async function makeWritable(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded Postgres cannot write into ${folder} (${codeOf(error)}). ` +
        'Make it writable, start from a folder of yours, or set DATABASE_URL.',
    );
  }
}

export async function isInitialized(folder: DataFolder, majorVersion: string): Promise<boolean> {
  const file = join(folder.path, 'data', 'PG_VERSION');
  let found: string;
  try {
    found = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' && !(await hasContent(folder))) return false;
    throw new EmbeddedPostgresError(
      `${folder.path} cannot be used as the embedded Postgres' folder (${code}: ${file}). ` +
        'Start as the user who made it, move it away, or set DATABASE_URL.',
    );
  }
  if (found === majorVersion) return true;
  throw new EmbeddedPostgresError(
    `${folder.path} holds data of Postgres ${found}, the programs are ${majorVersion}. ` +
      'Move it away (or dump it with the old version first), or set DATABASE_URL.',
  );
}

async function hasContent(folder: DataFolder): Promise<boolean> {
  return stat(join(folder.path, 'data')).then(
    () => true,
    () => false,
  );
}
