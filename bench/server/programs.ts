import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Searched before `PATH`: that of a user may lack `sbin`. */
const SERVER_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/sbin'];

/** The full path of a program. */
export function programPath(name: string): string | undefined {
  const folders = [...SERVER_FOLDERS, ...(process.env.PATH ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Why Redis cannot be started. */
export const missingRedis = (): string[] =>
  programPath('redis-server') ? [] : ['redis-server (apt-get install redis-server)'];
