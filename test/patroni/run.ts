import { setTimeout as pause } from 'node:timers/promises';
import { delayQueueMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Fleet } from './fleet.js';
import type { PatroniCluster } from './cluster.js';
import { networkOf, type Scenario } from './scenarios.js';
import { TABLES } from './tables.js';

const PROCESSES = 2;
const CALM_MS = 8_000;
/** Behind the harm, before no more orders are placed. */
const AFTER_MS = 10_000;
const QUIET_WITHIN_MS = 120_000;

/** What one scenario came to. */
export interface Findings {
  scenario: string;
  /** The longest time in which no order could be placed. */
  outageS: number;
  placed: number;
  /** Of closes that were due since the harm began. */
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  lost: number;
  doubled: number;
  closedThoughPaid: number;
  errors: ReadonlyMap<string, number>;
  /** From the promotion of another node; undefined where there was none. */
  firstCloseS: number | undefined;
  logLines: number;
  /** What no fault explains. */
  odd: readonly string[];
}

/** The tables of the library, before the first scenario. */
export async function migrate(url: string): Promise<void> {
  const source = new DataSource({ type: 'postgres', url, migrations: delayQueueMigrations() });
  await source.initialize();
  await source.runMigrations().finally(() => source.destroy());
}

/** One scenario: orders as on a day, the harm, its end, quiet, and what the database says then. */
export async function play(
  cluster: PatroniCluster,
  scenario: Scenario,
  say: (line: string) => void,
): Promise<Findings> {
  const primary = await cluster.whole();
  await cluster.proxy(scenario.sessions ?? 'left');
  await throughHaproxy(cluster, TABLES);
  const network = await networkOf(scenario, cluster.url);
  const fleet = new Fleet(network?.url ?? cluster.url, PROCESSES);
  try {
    await fleet.start();
    await pause(CALM_MS);
    say(`${scenario.name}: the harm begins`);
    const harmedAtMs = Date.now();
    const another = (isWorker: boolean): void => fleet.another(isWorker);
    const promotedAtMs = await scenario.harm({ cluster, primary, network, another });
    say(`${scenario.name}: mended after ${((Date.now() - harmedAtMs) / 1_000).toFixed(1)} s`);
    await pause(AFTER_MS);
    await fleet.stopPlacing();
    await cluster.whole();
    const isQuiet = await quiet(cluster);
    await fleet.stop();
    return await judge(cluster, fleet, { scenario, harmedAtMs, promotedAtMs, isQuiet });
  } finally {
    await fleet.kill();
    await network?.close();
    await cluster.endProxies();
  }
}

async function throughHaproxy(cluster: PatroniCluster, text: string): Promise<void> {
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** Until every order is paid or closed. @returns whether it came to that */
async function quiet(cluster: PatroniCluster): Promise<boolean> {
  const giveUpAtMs = performance.now() + QUIET_WITHIN_MS;
  for (;;) {
    const rows = await cluster
      .sql(`SELECT FROM orders WHERE state = 'UNPAID' LIMIT 1`)
      .catch(() => undefined);
    if (rows?.length === 0) return true;
    if (performance.now() > giveUpAtMs) return false;
    await pause(500);
  }
}

interface Played {
  scenario: Scenario;
  harmedAtMs: number;
  promotedAtMs: number | undefined;
  isQuiet: boolean;
}

async function judge(
  cluster: PatroniCluster,
  fleet: Fleet,
  { scenario, harmedAtMs, promotedAtMs, isQuiet }: Played,
): Promise<Findings> {
  const told = [[...fleet.placed.keys()], [...fleet.paid]];
  const lost = await cluster.sql<Lost>(LOST, told);
  const [twice] = await cluster.sql<Twice>(TWICE);
  const [late] = await cluster.sql<Record<'p50' | 'p99' | 'most', string | null>>(LATENESS, [
    harmedAtMs,
  ]);
  const [first] = await cluster.sql<{ at: string | null }>(FIRST_CLOSE, [promotedAtMs ?? 0]);
  return {
    scenario: scenario.name,
    outageS: longestGapMs([...fleet.placed.values()]) / 1_000,
    placed: fleet.placed.size,
    p50Ms: Number(late?.p50),
    p99Ms: Number(late?.p99),
    maxMs: Number(late?.most),
    lost: lost.length,
    doubled: Number(twice?.doubled),
    closedThoughPaid: Number(twice?.both),
    errors: fleet.errors,
    firstCloseS:
      promotedAtMs === undefined ? undefined : (Number(first?.at) - promotedAtMs) / 1_000,
    logLines: fleet.logLines,
    odd: [
      ...fleet.odd,
      ...(isQuiet ? [] : ['it was never quiet', ...(await openTransactions(cluster))]),
      ...lost.slice(0, TOLD_MAX).map(({ what, id }) => {
        const placedAtMs = fleet.placed.get(id);
        const when = placedAtMs === undefined ? 'never told' : seconds(placedAtMs - harmedAtMs);
        return `${what}: ${id}, placed ${when} after the harm began`;
      }),
    ],
  };
}

/** Whose locks the others may wait for. */
async function openTransactions(cluster: PatroniCluster): Promise<string[]> {
  const rows = await cluster.sql<{ session: string }>(OPEN_TRANSACTIONS);
  return rows.map(({ session }) => `in a transaction: ${session}`);
}

const OPEN_TRANSACTIONS = `
SELECT concat_ws(' · ', pid, application_name, state, wait_event, clock_timestamp() - xact_start, left(query, 80)) AS session
FROM pg_stat_activity WHERE datname = 'app' AND xact_start < clock_timestamp() - interval '20 s' ORDER BY xact_start`;

/** Each is told, up to so many. */
const TOLD_MAX = 20;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** `gone`: not there although its COMMIT was answered. `open`: neither paid nor closed. `unpaid`: a payment that is gone. */
interface Lost {
  what: 'gone' | 'open' | 'unpaid';
  id: string;
}

/** Parameters: orders whose COMMIT was answered, and those whose payment's was. */
const LOST = `
SELECT 'gone' AS what, told.id::text AS id FROM unnest($1::uuid[]) AS told (id)
WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = told.id)
UNION ALL
SELECT 'open', id::text FROM orders WHERE state = 'UNPAID'
UNION ALL
SELECT 'unpaid', told.id::text FROM unnest($2::uuid[]) AS told (id)
WHERE NOT EXISTS (SELECT FROM payment p WHERE p.id = told.id)`;

type Twice = Record<'doubled' | 'both', string>;

const TWICE = `
SELECT (SELECT count(*) FROM (SELECT FROM effect GROUP BY id HAVING count(*) > 1) AS twice) AS doubled,
       (SELECT count(*) FROM effect e JOIN payment p USING (id)) AS both`;

/** Parameters: the instant of the harm, in milliseconds. All is one machine, and so one clock. */
const LATENESS = `
SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY late)) AS p50,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY late)) AS p99, round(max(late)) AS most
FROM (SELECT extract(epoch FROM at - due)::float8 * 1000 AS late FROM effect
      WHERE due >= to_timestamp($1::float8 / 1000)) AS closes`;

const FIRST_CLOSE = `
SELECT extract(epoch FROM min(at)) * 1000 AS at FROM effect WHERE at > to_timestamp($1::float8 / 1000)`;

function longestGapMs(atMs: readonly number[]): number {
  const sorted = atMs.toSorted((a, b) => a - b);
  return Math.max(0, ...sorted.slice(1).map((each, index) => each - (sorted[index] ?? each)));
}
