import { UsageError } from '../command-line.js';
import type { Adapter } from './adapter.js';
import { GRAPHILE_WORKER } from './graphile-worker.js';
import { BULLMQ_POSTGRES } from './bullmq-postgres.js';
import { BULLMQ_REDIS } from './bullmq-redis.js';
import { OURS, OURS_WITH_ATTEMPTS, OURS_WITHOUT_HISTORY } from './ours.js';
import { BARE_SESSIONS } from './bare-sessions.js';
import { ORDER_LOOP } from './order-loop.js';
import type { PeerAdapter } from './peer.js';
import { PG_BOSS } from './pg-boss.js';
import { RABBITMQ } from './rabbitmq.js';
import { REDIS_ZSET } from './redis-zset.js';
import { STATEMENTS_ALONE } from './statements-alone.js';
import { TABLE_LEASE } from './table-lease.js';
import { TABLE_POLL } from './table-poll.js';

/** What people would pick instead and install first, in the order of the tables. */
export const PEERS: readonly PeerAdapter[] = [
  ...GRAPHILE_WORKER,
  ...PG_BOSS,
  ...BULLMQ_REDIS,
  BULLMQ_POSTGRES,
  REDIS_ZSET,
  RABBITMQ,
];

/** Every system that can be measured. */
const ADAPTERS: readonly (Adapter | PeerAdapter)[] = [
  OURS,
  OURS_WITHOUT_HISTORY,
  OURS_WITH_ATTEMPTS,
  TABLE_POLL,
  STATEMENTS_ALONE,
  TABLE_LEASE,
  ORDER_LOOP,
  BARE_SESSIONS,
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

/** The Node that runs the processes of a system; undefined: the one of the bench. */
export function execPathOf(name: string): string | undefined {
  const found = ADAPTERS.find((adapter) => adapter.name === name);
  return found && 'execPath' in found ? found.execPath : undefined;
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
    const missing = 'missing' in adapter ? adapter.missing() : [];
    if (missing.length > 0)
      explain(adapter.name, `is not installed, it needs ${missing.join(', ')}`);
    return missing.length === 0;
  });
}

function isMeant(adapter: Adapter | PeerAdapter, parts: readonly string[]): boolean {
  const name = adapter.name.toLowerCase();
  const wanted = parts.map((part) => part.toLowerCase());
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) return false;
  const onlyByName = 'onlyByName' in adapter ? adapter.onlyByName : undefined;
  if (onlyByName === undefined || wanted.includes(name)) return true;
  explain(adapter.name, `is measured only with --systems '${adapter.name}': ${onlyByName}`);
  return false;
}

function explain(name: string, why: string): void {
  if (explained.has(name)) return;
  explained.add(name);
  process.stderr.write(`*** LEFT OUT: ${name} ${why}\n`);
}
