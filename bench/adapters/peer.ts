import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Adapter, Batch } from './adapter.js';

/** What both graphile-worker and pg-boss ask for. */
const NODE_WANTED = { major: 22, minor: 18 };

const MODULES = fileURLToPath(new URL('../peers/node_modules/', import.meta.url));

const INSTALL_PACKAGES = 'npm run bench:peers';

/** `'0.18.0'`; undefined when it is not installed. */
function installedVersion(name: string): string | undefined {
  const file = join(MODULES, name, 'package.json');
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** `graphile-worker 0.18.0`, for settings that are printed. */
export const named = (name: string): string => `${name} ${installedVersion(name) ?? '(absent)'}`;

export function missingPackages(...names: readonly string[]): string[] {
  const missing = names.filter((name) => installedVersion(name) === undefined);
  return missing.length === 0 ? [] : [`${missing.join(', ')} (${INSTALL_PACKAGES})`];
}

/** A Node that is new enough for every peer: this one, or the one among the packages. */
const PEERS_NODE: string | undefined = isNewEnough(process.versions.node)
  ? process.execPath
  : [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`]
      .map((name) => join(MODULES, name, 'bin/node'))
      .find((path) => existsSync(path));

const missingNode = (): string[] =>
  PEERS_NODE ? [] : [`Node ≥ ${NODE_WANTED.major}.${NODE_WANTED.minor} (${INSTALL_PACKAGES})`];

/** What a peer needs that wants that Node. */
export const onNewerNode = (name: string): Pick<Adapter, 'missing' | 'execPath'> => ({
  missing: () => [...missingPackages(name), ...missingNode()],
  execPath: PEERS_NODE,
});

/** The delays of a batch page by page, as their systems take them. */
export function* pagesOf(
  { first, count, dueFromMs, dueToMs }: Batch,
  size: number,
): Iterable<{ n: number; dueInMs: number }[]> {
  for (let done = 0; done < count; done += size) {
    yield Array.from({ length: Math.min(size, count - done) }, (_, index) => ({
      n: first + done + index,
      dueInMs: Math.round(dueFromMs + ((dueToMs - dueFromMs) * (done + index)) / count),
    }));
  }
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > NODE_WANTED.major || (major === NODE_WANTED.major && minor >= NODE_WANTED.minor);
}

/** `Node 22.23.3`, for settings that are printed. */
export function peersNodeVersion(): string {
  if (PEERS_NODE === undefined) return 'Node (absent)';
  if (PEERS_NODE === process.execPath) return `Node ${process.versions.node}`;
  const version = execFileSync(PEERS_NODE, ['--version'], { encoding: 'utf8' });
  return `Node ${version.trim().slice(1)}`;
}
