import { setTimeout as pause } from 'node:timers/promises';
import { OnDelay, type OnDelayOptions } from 'nestjs-delay-queue';
import { compile, OURS, prepare } from './adapters/ours.js';
import { openSite } from './measure/site.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import { connect } from './server/bench-server.js';
import { cpuSecondsOf, ownCpuTime } from './server/process-cpu.js';
import { besideWaiting } from './tenants/waiting.js';

interface TenantsOf extends Variant {
  tenants: number;
  /** Overdue delays of a tenant. */
  each: number;
  /** Whether those of one tenant lie behind all of the one before, or the tenants take turns. */
  inTurn: boolean;
  perGroup: NonNullable<OnDelayOptions['perGroup']>;
  takesMs: number;
  concurrency: number;
  /** What the limits let through in a second, if that is less than what a node can do. */
  allowedPerSecond?: number;
}

interface Tenants {
  perSecond: number;
  processors: number;
}

/** To build its database, and to stop. */
const SETUP_SECONDS = 5;

const VARIANTS: readonly TenantsOf[] = [
  {
    title: '2,000 tenants, one at a time, 2 ms',
    tenants: 2_000,
    each: 10,
    inTurn: true,
    perGroup: { concurrency: 1 },
    takesMs: 2,
    concurrency: 500,
  },
  {
    title: '1,000 tenants, one at a time, 1 s',
    tenants: 1_000,
    each: 100,
    inTurn: false,
    perGroup: { concurrency: 1 },
    takesMs: 1_000,
    concurrency: 1_000,
    allowedPerSecond: 1_000,
  },
  {
    title: '1,000 tenants, 60 a minute',
    tenants: 1_000,
    each: 100,
    inTurn: false,
    perGroup: { rateLimit: { max: 60, per: '1m' } },
    takesMs: 1,
    concurrency: 500,
    allowedPerSecond: 1_000,
  },
];

const COLUMNS: readonly Column<Tenants>[] = [
  { title: 'begun/s', of: ({ perSecond }) => perSecond },
  { title: "process's processors", of: ({ processors }) => processors, digits: 2 },
];

const FILL = `
  INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
  SELECT 'bench.run', jsonb_build_object('n', n), due, due, clock_timestamp(),
         'tenant ' || CASE WHEN $3::bool THEN n % $1::int ELSE n / $2::int END
  FROM generate_series(0, $1::int * $2::int - 1) AS n,
       LATERAL (SELECT date_trunc('milliseconds', now()) - interval '1 minute') AS d(due)`;

/** A backlog of many tenants, each with a limit of its own: how much of what the limits let through (`allowed`) begins. */
export async function run(bench: Bench): Promise<Table[]> {
  const { tenantSeconds: seconds } = bench.settings;
  const table = await compare(bench, {
    name: 'tenants',
    title: 'A backlog of many tenants, a limit for each',
    notes: [
      `one process, history on, ${seconds} s from its start, or until all have begun`,
      'each tenant is a group with `perGroup`; but in the first row the delays of one lie behind all of another',
    ],
    variants: VARIANTS,
    measure: (variant) => measure(bench, variant, seconds),
    labels: {
      '': ({ title }) => title,
      'allowed/s': ({ allowedPerSecond }) =>
        allowedPerSecond === undefined ? '' : figure(allowedPerSecond),
    },
    columns: COLUMNS,
    expectedSeconds: () => seconds + SETUP_SECONDS,
  });
  return [table, await besideWaiting(bench)];
}

async function measure(bench: Bench, variant: TenantsOf, seconds: number): Promise<Tenants> {
  const { tenants, each, inTurn, perGroup, takesMs, concurrency } = variant;
  const site = await openSite(bench, OURS, 'tenants', prepare);
  const client = await connect(site.url);
  const count = tenants * each;
  let begun = 0;
  let allBegan!: () => void;
  const all = new Promise<void>((resolve) => {
    allBegan = resolve;
  });
  class Handler {
    @OnDelay('bench.run', { concurrency, perGroup })
    async run(): Promise<void> {
      begun += 1;
      if (begun === count) allBegan();
      await pause(takesMs);
    }
  }
  await client.query(FILL, [tenants, each, inTurn]);
  // As a server has it that was up for a while: the limits are new all the same.
  await client.query('ANALYZE');
  const app = await compile(site.url, { drainTimeout: '2s' }, [Handler]);
  const cpu = ownCpuTime();
  const startedAtMs = performance.now();
  await app.init();
  const over = new AbortController();
  await Promise.race([all, pause(seconds * 1_000, undefined, { signal: over.signal })]);
  over.abort();
  const elapsedSeconds = (performance.now() - startedAtMs) / 1_000;
  const measured = {
    perSecond: begun / elapsedSeconds,
    processors: cpuSecondsOf(ownCpuTime(cpu)) / elapsedSeconds,
  };
  await app.close();
  await client.end();
  await site.drop();
  return measured;
}
