/**
 * The keeper: a small process beside each process that uses the embedded Postgres. It starts or
 * joins the server, holds a lock there for its parent, and leaves when the parent is gone:
 *
 *     parent ──IPC channel──▶ keeper ──connection with a shared advisory lock──▶ Postgres
 *
 * The channel closes whether the parent stops, crashes or is killed with SIGKILL. The last keeper
 * is the one that then gets the lock exclusively: it stops the server. The kernel closes channel
 * and connection, so nothing depends on process ids, which are reused.
 */
import { rm } from 'node:fs/promises';
import { binariesIn, locateBinaries } from './binaries.js';
import { openDataFolder } from './data-folder.js';
import { messageOf } from './embedded-postgres.error.js';
import type { KeeperMessage, KeeperOptions } from './keeper.protocol.js';
import { joinServer, type Presence } from './presence.js';
import { Server } from './server.js';

const parentGone = new Promise<'parent gone'>((resolve) => {
  process.once('disconnect', () => resolve('parent gone'));
  // The event may have come while this module was imported.
  if (!process.connected) resolve('parent gone');
});

// A service manager signals the whole group, but the parent needs its database until it has
// drained.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function tell(message: KeeperMessage): void {
  // The parent may go at any time; that is what a keeper is for.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

const log = (line: string): void => tell({ type: 'log', line });

async function openServer(options: KeeperOptions): Promise<Server> {
  const folder = await openDataFolder(options.dataDir, log);
  const { programs } = options;
  const binaries = await (programs ? binariesIn(programs) : locateBinaries(folder.user));
  return new Server(binaries, folder, options.settings ?? {}, log);
}

async function leave(server: Server, presence: Presence, options: KeeperOptions): Promise<void> {
  try {
    if (!(await presence.leaveAsLast())) return;
    await server.stop('fast', options.stopTimeoutMs);
  } finally {
    // Also when Postgres does not stop: the lock would block every later start.
    await presence.close();
  }
  if (options.temporary) await rm(server.folder.path, { recursive: true, force: true });
}

async function keep(options: KeeperOptions): Promise<void> {
  const server = await openServer(options);
  for (let joins = 1; ; joins++) {
    const presence = await joinServer(server, options.joinTimeoutMs, log);
    if (joins === 1) tell({ type: 'ready', url: presence.url });
    else log('The embedded Postgres is back.');
    const event = await Promise.race([parentGone, presence.lost]);
    if (event === 'parent gone') return leave(server, presence, options);
    log('The embedded Postgres went away; starting it again.');
  }
}

try {
  const options: KeeperOptions = JSON.parse(process.argv[2] ?? '{}');
  await keep(options);
} catch (error) {
  tell({ type: 'failed', message: messageOf(error) });
  process.exitCode = 1;
} finally {
  if (process.connected) process.disconnect();
}
