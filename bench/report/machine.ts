import { availableParallelism, cpus, totalmem } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';

const SERVER_SETTINGS = [
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'autovacuum',
  'jit',
];

/** More of the machine than this in use by others, and the figures are theirs as well. */
const QUIET_SHARE = 0.1;

/** How long it is watched. The load average would not do: it has the run before this one in it. */
const WATCHED_MS = 2_000;

/** What the figures are measured on. */
export async function machineFacts(): Promise<string[]> {
  const facts = [
    `${availableParallelism()} cores, ${(totalmem() / 2 ** 30).toFixed(1)} GiB, ` +
      `${process.platform} ${process.arch}`,
    `Node ${process.versions.node}`,
  ];
  const share = await shareInUse();
  if (share > QUIET_SHARE) {
    facts.push(
      `NOT QUIET: ${Math.round(share * 100)} % of the machine in use before the start; ` +
        'good for trying out, not for figures to quote',
    );
  }
  return facts;
}

/** Of all cores, while this process does nothing. */
async function shareInUse(): Promise<number> {
  const before = coresMs();
  await pause(WATCHED_MS);
  return busyShare(before, coresMs());
}

interface CoresMs {
  idle: number;
  all: number;
}

/** 0 to 1, between two looks. */
export const busyShare = (before: CoresMs, after: CoresMs): number =>
  1 - (after.idle - before.idle) / (after.all - before.all);

/** What all cores have done since the machine started. */
export function coresMs(): CoresMs {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    for (const ms of Object.values(times)) sum.all += ms;
  }
  return sum;
}

export async function serverFacts(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; value: string }>(
    `SELECT name, current_setting(name) AS value
     FROM unnest($1::text[]) WITH ORDINALITY AS wanted(name, ord) ORDER BY ord`,
    [['server_version', ...SERVER_SETTINGS]],
  );
  const [version, ...settings] = rows.map(({ name, value }) => ({ name, value }));
  return [
    `Postgres ${version?.value}: ${settings.map(({ name, value }) => `${name} ${value}`).join(', ')}`,
  ];
}
