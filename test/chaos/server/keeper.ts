/**
 * The process that owns the Postgres of a chaos run. It differs from the keeper of the embedded
 * Postgres in what it does about a server that is down: nothing, unless it is told to. It ends when
 * its channel to the run closes, however the run ended, and takes server and folder with it.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { locateBinaries } from '../../../src/embedded-postgres/binaries.js';
import { openDataFolder } from '../../../src/embedded-postgres/data-folder.js';
import { messageOf } from '../../../src/embedded-postgres/embedded-postgres.error.js';
import { initialize } from '../../../src/embedded-postgres/initialize.js';
import { Server } from '../../../src/embedded-postgres/server.js';
import type {
  ChaosKeeperMessage,
  ChaosKeeperOptions,
  ChaosKeeperOrder,
} from './keeper.protocol.js';
import { quietPort } from './quiet-port.js';

const LET_IN_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 20;

const parentGone = new Promise<void>((resolve) => {
  if (process.connected) process.once('disconnect', () => resolve());
  else resolve();
});

// The run hears Ctrl+C too, and closes the channel when it has drained.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function tell(message: ChaosKeeperMessage): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** Resolves with its URL when it lets somebody in, which takes longer than starting: it recovers first. */
async function start(server: Server): Promise<string> {
  await server.start();
  const giveUpAtMs = performance.now() + LET_IN_WITHIN_MS;
  for (;;) {
    const seen = await server.look();
    if (seen.state === 'stopped') throw new Error('the Postgres of the run ended by itself');
    if (seen.state === 'running' && (await letsIn(seen.url))) return seen.url;
    if (performance.now() > giveUpAtMs) throw new Error('the Postgres of the run lets nobody in');
    await pause(LOOK_EVERY_MS);
  }
}

async function letsIn(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function crash(server: Server, downMs: number): Promise<string> {
  await server.stop('immediate');
  await Promise.race([pause(downMs, undefined, { ref: false }), parentGone]);
  return start(server);
}

async function answer(work: Promise<string>): Promise<void> {
  try {
    tell({ ready: await work });
  } catch (error) {
    tell({ failed: messageOf(error) });
  }
}

const options: ChaosKeeperOptions = JSON.parse(process.argv.at(-1) ?? '');
const folder = await openDataFolder(options.folder, (line) => tell({ log: line }));
const binaries = await locateBinaries(folder.user);
const server = new Server(binaries, folder, options.settings);

async function begin(): Promise<string> {
  await initialize(binaries, folder, true);
  await writeFile(join(folder.path, 'port'), String(await quietPort()));
  return start(server);
}

let working = answer(begin());
process.on('message', ({ crashMs }: ChaosKeeperOrder) => {
  working = working.then(() => answer(crash(server, crashMs)));
});

await parentGone;
await working;
// What is stopped like a crash is stopped at once, and nobody needs these data any more.
if ((await server.look()).state !== 'stopped') await server.stop('immediate').catch(() => {});
await rm(folder.path, { recursive: true, force: true });
