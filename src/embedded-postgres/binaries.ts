import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { canReach, reachableFolder, type OperatingUser } from './operating-user.js';

const ADVICE = 'Set DATABASE_URL to a Postgres server (14 or later) instead.';

/** Paths of the programs, and their version of Postgres. */
export interface Binaries {
  initdb: string;
  pgCtl: string;
  /** As in the data folder's `PG_VERSION`. */
  majorVersion: string;
}

/**
 * Finds the platform's package and makes it runnable by `user`.
 * @param root of the same package in another version
 */
export async function locateBinaries(
  user: OperatingUser | undefined,
  root = packageRoot(),
): Promise<Binaries> {
  const { version }: { version: string } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  );
  await restoreLinks(root);
  const native = await reachableNative(root, version, user);
  return {
    initdb: join(native, 'bin', 'initdb'),
    pgCtl: join(native, 'bin', 'pg_ctl'),
    majorVersion: version.split('.')[0] ?? '',
  };
}

/** Those of another Postgres. @param folder such as `/usr/lib/postgresql/15/bin` */
export async function binariesIn(folder: string): Promise<Binaries> {
  const { stdout } = await promisify(execFile)(join(folder, 'postgres'), ['--version']);
  const [majorVersion = ''] = /\d+/.exec(stdout) ?? [];
  return { initdb: join(folder, 'initdb'), pgCtl: join(folder, 'pg_ctl'), majorVersion };
}

export function packageName(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${platform}-${process.arch}`;
}

function packageRoot(): string {
  const name = packageName();
  if (usesMusl()) {
    throw new EmbeddedPostgresError(
      `There is no embedded Postgres for Linux with musl (Alpine). ${ADVICE}`,
    );
  }
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new EmbeddedPostgresError(
      `There is no embedded Postgres for this platform, or npm left out its optional package ${name}. ${ADVICE}`,
    );
  }
}

function usesMusl(): boolean {
  if (process.platform !== 'linux') return false;
  return !JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime');
}

/** npm drops links from packages, and the script that would restore them may not run. */
async function restoreLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const link of links) {
    const target = join(root, link.target);
    if (await exists(target)) continue;
    await symlink(relative(dirname(link.target), link.source), target).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return;
        throw new EmbeddedPostgresError(
          `Cannot restore the library links in ${root} (${error.code}). Run \`npm rebuild\` as the owner of node_modules.`,
        );
      },
    );
  }
}

async function reachableNative(
  root: string,
  version: string,
  user: OperatingUser | undefined,
): Promise<string> {
  const native = join(root, 'native');
  if (!user || canReach(join(native, 'bin', 'postgres'), user)) return native;

  const id = createHash('sha256').update(native).digest('hex').slice(0, 12);
  const folder = await reachableFolder(`embedded-postgres-${version}-${id}`, user);
  const copy = join(folder, 'native');
  if (!(await exists(copy))) await copyWhole(native, folder, copy);
  if (canReach(join(copy, 'bin', 'postgres'), user)) return copy;
  throw new EmbeddedPostgresError(
    `User ${user.uid} cannot run the Postgres programs in ${copy}, nor in ${native}. ${ADVICE}`,
  );
}

/** The copy appears complete or not at all, also when two processes copy at once. */
async function copyWhole(source: string, folder: string, target: string): Promise<void> {
  const unfinished = await mkdtemp(join(folder, 'copying-'));
  await cp(source, unfinished, { recursive: true, verbatimSymlinks: true });
  await chmod(unfinished, 0o755);
  await rename(unfinished, target).catch(async () => {
    await rm(unfinished, { recursive: true, force: true });
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
