import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Searched before `PATH`: Debian's `/usr/sbin/rabbitmq-server` is a wrapper for its own user and
 * service, and the path of a user may lack `sbin`.
 */
const SERVER_FOLDERS = ['/usr/lib/rabbitmq/bin', '/usr/bin', '/usr/sbin', '/usr/local/sbin'];

/** The full path of a program. */
export function programPath(name: string): string | undefined {
  const folders = [...SERVER_FOLDERS, ...(process.env.PATH ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Servers that the bench starts, and the Debian packages that bring them. */
export const SERVERS = { 'redis-server': 'redis-server', 'rabbitmq-server': 'rabbitmq-server' };

export const missingServer = (name: keyof typeof SERVERS): string[] =>
  programPath(name) ? [] : [`${name} (apt-get install ${SERVERS[name]})`];
