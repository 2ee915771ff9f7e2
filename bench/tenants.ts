import { setTimeout as pause } from 'node:timers/promises';
import { DelayService, OnDelay, type OnDelayOptions } from 'nestjs-delay-queue';
import type { Client } from 'pg';
import { fillDelays } from './adapters/ours.js';
import { Countdown, inThisProcess } from './measure/in-process.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import { cpuSecondsOf, ownCpuTime } from './server/process-cpu.js';

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

const OVERDUE = { dueFromMs: -60_000, dueToMs: -60_000 };

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
  const begun = new Countdown(tenants * each);
  class Handler {
    @OnDelay('bench.run', { concurrency, perGroup })
    async run(): Promise<void> {
      begun.count();
      await pause(takesMs);
    }
  }
  const group = `'tenant ' || n ${inTurn ? `% ${tenants}` : `/ ${each}`}`;
  const fill = (client: Client): Promise<void> =>
    fillDelays(client, { first: 0, count: tenants * each, ...OVERDUE }, { groupSql: group });
  return inThisProcess(bench, fill, Handler, { drainTimeout: '2s' }, async (start) => {
    const cpu = ownCpuTime();
    const startedAtMs = performance.now();
    await start();
    const over = new AbortController();
    await Promise.race([begun.reached, pause(seconds * 1_000, undefined, { signal: over.signal })]);
    over.abort();
    const elapsedSeconds = (performance.now() - startedAtMs) / 1_000;
    return {
      perSecond: begun.counted / elapsedSeconds,
      processors: cpuSecondsOf(ownCpuTime(cpu)) / elapsedSeconds,
    };
  });
}

/** Milliseconds of a processor for each delay that runs. */
interface PerDelay {
  processMs: number;
  serverMs: number;
}

/** Of groups that wait for nothing. */
const PER_SECOND = 50;

/** Groups of which the first delay runs in a second, before the measurement: a rough guess. */
const USED_UP_PER_SECOND = 4_000;
const TELL_EVERY_MS = 5_000;

const BESIDE: readonly Column<PerDelay>[] = [
  { title: 'process ms each', of: ({ processMs }) => processMs, digits: 2 },
  { title: 'server ms each', of: ({ serverMs }) => serverMs, digits: 2 },
];

/** What a delay costs whose group is free, beside groups whose rate is used up. */
async function besideWaiting(bench: Bench): Promise<Table> {
  const { tenantSeconds, waiting } = bench.settings;
  return compare(bench, {
    name: 'tenants-waiting',
    title: 'Delays of free groups beside groups that wait for their rate',
    notes: [
      `one process, history on, ${PER_SECOND} delays a second for ${tenantSeconds} s, each of a new group; a rate of 1 an hour`,
      'everything that the process and the server do meanwhile is counted, loads and sweeps too',
    ],
    variants: waiting.map((each) => ({
      title: `beside ${figure(each)} groups that wait`,
      waiting: each,
    })),
    measure: (variant) => measureBeside(bench, variant.waiting, tenantSeconds),
    labels: { '': ({ title }) => title },
    columns: BESIDE,
    expectedSeconds: (variant) =>
      tenantSeconds + SETUP_SECONDS + variant.waiting / USED_UP_PER_SECOND,
  });
}

async function measureBeside(bench: Bench, waiting: number, seconds: number): Promise<PerDelay> {
  const usedUp = new Countdown(waiting);
  const count = seconds * PER_SECOND;
  const done = new Countdown(waiting + count);
  class Handler {
    @OnDelay('bench.run', { concurrency: 500, perGroup: { rateLimit: { max: 1, per: '1h' } } })
    async run(): Promise<void> {
      await Promise.resolve();
      usedUp.count();
      done.count();
    }
  }
  // Two of each group, of which one may begin in an hour.
  const fill = (client: Client): Promise<void> =>
    fillDelays(
      client,
      { first: 0, count: 2 * waiting, ...OVERDUE },
      { groupSql: "'waits ' || n / 2" },
    );
  return inThisProcess(bench, fill, Handler, {}, async (start, app, site) => {
    await start();
    const tell = (): void =>
      bench.progress(`${figure(usedUp.counted)} of ${figure(waiting)} groups wait so far`);
    const telling = setInterval(tell, TELL_EVERY_MS);
    await usedUp.reached.finally(() => clearInterval(telling));
    const delays = app.get(DelayService, { strict: false });
    await site.begin();
    const before = ownCpuTime();
    for (let n = 0; n < count; n += 1) {
      await delays.schedule('bench.run', { n }, { after: 0, group: `free ${n}` });
      await pause(1_000 / PER_SECOND);
    }
    await done.reached;
    const processSeconds = cpuSecondsOf(ownCpuTime(before));
    const { cpuSeconds: serverSeconds } = await site.done();
    return {
      processMs: (processSeconds * 1e3) / count,
      serverMs: (serverSeconds * 1e3) / count,
    };
  });
}
