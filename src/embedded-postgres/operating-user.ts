import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { lstat, mkdir, chmod, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';

/** Postgres refuses to run as root, so root runs it as another user. */
export interface OperatingUser {
  uid: number;
  gid: number;
}

const NOBODY: OperatingUser = { uid: 65_534, gid: 65_534 };

/** For root: the owner of existing data, else `postgres`, else `nobody`. */
export async function operatingUser(existingData: string): Promise<OperatingUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(existingData).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return accountOf('postgres') ?? accountOf('nobody') ?? NOBODY;
}

function accountOf(name: string): OperatingUser | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Asks the kernel instead of computing modes: access lists and `noexec` mounts count too. */
export function canReach(path: string, user: OperatingUser | undefined): boolean {
  if (!user) return true;
  const test = spawnSync('/bin/sh', ['-c', '[ -x "$1" ]', 'sh', path], {
    ...user,
    cwd: '/',
    stdio: 'ignore',
  });
  return test.status === 0;
}

/**
 * A folder outside the project that `user` can reach; the same name always gives the same folder.
 * The parents are writable by everyone, so a folder or link of another user is refused.
 */
export async function reachableFolder(name: string, user: OperatingUser): Promise<string> {
  for (const parent of ['/var/tmp', tmpdir()]) {
    const folder = join(parent, name);
    await mkdir(folder, { recursive: true }).catch(() => {});
    const found = await lstat(folder).catch(() => undefined);
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    await chmod(folder, 0o711);
    if (canReach(folder, user)) return folder;
  }
  throw new EmbeddedPostgresError(
    `Postgres cannot run as root, and neither /var/tmp nor ${tmpdir()} has a folder that user ${user.uid} can reach. ` +
      'Start as an ordinary user, or set DATABASE_URL to a Postgres server.',
  );
}
