import { UsageError } from '../run/command-line.js';
import type { Adapter } from './adapter.js';
import { BARE_SESSIONS } from './bare-sessions.js';
import { BULLMQ_POSTGRES, BULLMQ_REDIS } from './bullmq.js';
import { GRAPHILE_WORKER } from './graphile-worker.js';
import { ORDER_LOOP, SHOP_LOOP } from './loops.js';
import {
  OURS,
  OURS_WITH_ATTEMPTS,
  OURS_WITH_CHANNELS,
  OURS_WITH_DASHBOARDS,
  OURS_WITH_TELEMETRY,
  OURS_WITHOUT_HISTORY,
} from './ours.js';
import { PG_BOSS } from './pg-boss.js';
import { SHOP } from './shop.js';
import { TABLE_POLL } from './table-poll.js';

/** What people would pick instead and install first, in the order of the tables. */
export const PEERS: readonly Adapter[] = [
  ...GRAPHILE_WORKER,
  ...PG_BOSS,
  ...BULLMQ_REDIS,
  BULLMQ_POSTGRES,
];

/** Every system that can be measured. */
const ADAPTERS: readonly Adapter[] = [
  OURS,
  OURS_WITHOUT_HISTORY,
  OURS_WITH_ATTEMPTS,
  OURS_WITH_CHANNELS,
  OURS_WITH_DASHBOARDS,
  OURS_WITH_TELEMETRY,
  TABLE_POLL,
  ORDER_LOOP,
  BARE_SESSIONS,
  SHOP,
  SHOP_LOOP,
  ...PEERS,
];

/** Names of which was said why they are left out. */
const explained = new Set<string>();

/** @throws when there is none of that name */
export function adapterOf(name: string): Adapter {
  const found = ADAPTERS.find((adapter) => adapter.name === name);
  if (found === undefined) throw new Error(`there is no system '${name}'`);
  return found;
}

/**
 * What is not installed is left out, which is said once.
 *
 * @param parts of names, in any case; none: all systems. @throws UsageError when nothing matches
 */
export function adaptersLike(parts: readonly string[]): readonly Adapter[] {
  const found = ADAPTERS.filter((adapter) => isMeant(adapter, parts));
  if (found.length === 0) {
    const names = ADAPTERS.map(({ name }) => `'${name}'`).join(', ');
    throw new UsageError(`--systems ${parts.join(',')} matches none of ${names}.`);
  }
  return found.filter((adapter) => {
    const why = missingOf(adapter);
    if (why !== undefined) explain(adapter.name, why);
    return why === undefined;
  });
}

/** Why a system cannot be measured here; undefined: it can. */
export function missingOf(adapter: Adapter): string | undefined {
  const all = adapter.missing?.() ?? [];
  return all.length === 0 ? undefined : `is not installed, it needs ${all.join(', ')}`;
}

function isMeant({ name, onlyByName }: Adapter, parts: readonly string[]): boolean {
  const lower = name.toLowerCase();
  const wanted = parts.map((part) => part.toLowerCase());
  if (wanted.length > 0 && !wanted.some((part) => lower.includes(part))) return false;
  if (onlyByName === undefined || wanted.includes(lower)) return true;
  explain(name, `is measured only with --systems '${name}': ${onlyByName}`);
  return false;
}

function explain(name: string, why: string): void {
  if (explained.has(name)) return;
  explained.add(name);
  process.stderr.write(`*** LEFT OUT: ${name} ${why}\n`);
}
