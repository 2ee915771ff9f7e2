import { availableParallelism, loadavg, totalmem } from 'node:os';
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
const QUIET_LOAD_PER_CORE = 0.25;

/** What the figures were measured on. */
export function machineFacts(): string[] {
  const cores = availableParallelism();
  const loadPerCore = (loadavg()[0] ?? 0) / cores;
  const facts = [
    `${cores} cores, ${(totalmem() / 2 ** 30).toFixed(1)} GiB, ${process.platform} ${process.arch}`,
    `Node ${process.versions.node}`,
  ];
  if (loadPerCore > QUIET_LOAD_PER_CORE) {
    facts.push(
      `NOT QUIET: load ${(loadPerCore * cores).toFixed(1)} before the start; ` +
        'good for trying out, not for figures to quote',
    );
  }
  return facts;
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
