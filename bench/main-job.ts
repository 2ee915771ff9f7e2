import type { Adapter, Running } from './adapters/adapter.js';
import { adapterOf, missingOf } from './adapters/adapters.js';
import { ORDERS, POOL_MAX } from './adapters/orders.js';
import { account, type Accounting, LOST_OR_TWICE } from './measure/accounting.js';
import { openSite } from './measure/site.js';
import { awaitSettled, BenchProcess } from './processes/bench-process.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import {
  type BenchServer,
  distributedPrograms,
  DISTRIBUTION,
  EMBEDDED,
  numberAt,
  withClient,
} from './server/bench-server.js';
import { cpuBetween, type CpuTime, sumOf } from './server/process-cpu.js';

/** A line of the table. */
interface Line {
  system: string;
  shown: string;
  running?: Partial<Running>;
  /** An order of the sample shop instead of a row. */
  ofShop?: true;
  /** Measured only if `--systems` has its whole name. */
  byName?: true;
}

interface JobOf extends Variant, Line {
  adapter: Adapter;
  server: BenchServer;
}

interface MainJob {
  perSecond: number;
  server: CpuTime;
  worker: CpuTime;
  claims: number;
  commits: number;
  roundTrips: number;
  accounting: Accounting;
}

/** All but the first for each order. */
const COLUMNS: readonly Column<MainJob>[] = [
  { title: 'orders/s', of: ({ perSecond }) => perSecond },
  { title: 'server user µs', of: ({ server }) => server.user },
  { title: 'server kernel µs', of: ({ server }) => server.kernel },
  { title: 'worker user µs', of: ({ worker }) => worker.user },
  { title: 'worker kernel µs', of: ({ worker }) => worker.kernel },
  { title: 'claims', of: ({ claims }) => claims, digits: 3 },
  { title: 'commits', of: ({ commits }) => commits, digits: 2 },
  { title: 'round trips', of: ({ roundTrips }) => roundTrips, digits: 2 },
];

/** What each order is measured beside. */
const [FLOOR, SHOP_FLOOR] = ['no queue', 'the shop, no queue'];

/** The floors first. */
const linesOf = (batch: number): Line[] => [
  { system: FLOOR, shown: 'the transaction alone, no queue' },
  { system: 'bare sessions', shown: 'claim and removal on bare sessions: exactly once' },
  { system: 'ours, history on', shown: 'ours: exactly once' },
  { system: 'ours, history on', shown: 'ours, concurrency 100', running: { concurrency: 100 } },
  { system: 'ours, history on', shown: `ours, batches of ${batch}`, running: { batch } },
  { system: 'ours with channels', shown: 'ours with subscribers of all channels', byName: true },
  {
    system: 'ours with OpenTelemetry',
    shown: 'ours with OpenTelemetry: a span of each',
    byName: true,
  },
  { system: 'pg-boss fast', shown: 'pg-boss fast: at least once' },
  { system: 'graphile-worker batched', shown: 'graphile-worker batched: at least once' },
  { system: 'BullMQ Redis everysec', shown: 'BullMQ on Redis: at least once' },
  { system: 'BullMQ Postgres', shown: 'BullMQ on Postgres: at least once' },
  {
    system: 'pg-boss transactional',
    shown: `pg-boss transactional, batches of ${batch}`,
    running: { batch },
  },
  { system: SHOP_FLOOR, shown: "the shop's close alone, no queue", ofShop: true },
  { system: 'the shop', shown: "the shop's close, one by one", ofShop: true },
  {
    system: 'the shop',
    shown: `the shop's close, batches of ${batch}`,
    running: { batch },
    ofShop: true,
  },
];

/** One order closes in one transaction: the main job, beside that transaction without a queue. */
export async function run(bench: Bench): Promise<Table[]> {
  const { orders } = bench.settings;
  const variants = await variantsOf(bench);
  const table = await compare(bench, {
    name: 'main-job',
    title: `${figure(orders)} unpaid orders are due, each is closed in a transaction`,
    notes: [
      `the handler: ${ORDERS.close}`,
      `through TypeORM, a pool of ${POOL_MAX} of the application; a cold process, all options as they come; the peers'`,
      'handlers open the transaction themselves, unless the line says transactional',
      'from the first call of a handler to the last order that its queue is done with',
      'for each order: µs of the processor (of Postgres and, where there is one, of Redis), claims of the queue,',
      'transactions that wrote, and how often the worker waited for an answer of a server',
      '"ratio": to the transaction alone in the same round; "to its own": the same, for orders of the shop to its close alone',
      ...new Set(variants.map(({ adapter }) => adapter.settings)),
    ],
    variants,
    measure: (variant) => measure(bench, variant),
    labels: { Postgres: ({ server }) => server.version, what: ({ shown }) => shown },
    columns: COLUMNS,
    ratios: [
      {
        title: 'ratio',
        of: perSecondOf,
        isTo: (one, other) => isBeside(one, other, FLOOR),
      },
      {
        title: 'to its own',
        of: perSecondOf,
        isTo: (one, other) => isBeside(one, other, one.ofShop ? SHOP_FLOOR : FLOOR),
      },
    ],
    sums: LOST_OR_TWICE,
  });
  return [table];
}

const perSecondOf = ({ perSecond }: MainJob): number => perSecond;

const isBeside = (one: JobOf, other: JobOf, system: string): boolean =>
  one.server === other.server && other.system === system;

/** Of all lines those whose system is meant, on each server; the floors are always among them. */
async function variantsOf(bench: Bench): Promise<JobOf[]> {
  const { systems, batch } = bench.settings;
  const meant = systems.map((part) => part.toLowerCase());
  const isMeant = ({ system, ofShop, byName }: Line): boolean => {
    const name = system.toLowerCase();
    if (byName) return meant.includes(name);
    return (
      system === FLOOR ||
      meant.length === 0 ||
      meant.some((part) => name.includes(part)) ||
      (system === SHOP_FLOOR && ofShop === true && meant.some((part) => 'the shop'.includes(part)))
    );
  };
  const lines = linesOf(batch).filter(isMeant);
  const variants: JobOf[] = [];
  for (const name of serversOf(bench)) {
    const server = await bench.server(name);
    for (const line of lines) {
      const adapter = adapterOf(line.system);
      const title = `Postgres ${server.version} · ${line.shown}`;
      variants.push({ ...line, title, adapter, server, notRun: missingOf(adapter) });
    }
  }
  return variants;
}

/** Without `--postgres`: the embedded one, and that of the distribution. */
function serversOf(bench: Bench): readonly string[] {
  if (process.env.BENCH_DATABASE_URL !== undefined) return [EMBEDDED];
  const { postgres } = bench.settings;
  if (postgres !== undefined) return postgres;
  if (distributedPrograms() !== undefined) return [EMBEDDED, DISTRIBUTION];
  bench.progress(
    '*** NOT RUN: the Postgres of a distribution; on Debian: apt-get install postgresql',
  );
  return [EMBEDDED];
}

async function measure(
  bench: Bench,
  { system, adapter, running, server, ofShop }: JobOf,
): Promise<MainJob> {
  const { orders } = bench.settings;
  const left = async (url: string): Promise<number> =>
    (ofShop ? 0 : await numberAt(url, ORDERS.open)) + (await adapter.left(url));
  const site = await openSite(
    bench,
    adapter,
    `main-job ${adapter.name}`,
    (url) => build(adapter, url, orders, ofShop === true),
    { server },
  );
  const worker = await BenchProcess.open({
    role: 'worker',
    system,
    url: site.url,
    count: orders,
    running: { handler: 'close', ...running },
  });
  // The orders are in Postgres, wherever the queue is.
  const before = adapter.elsewhere ? await server.cpuTime() : undefined;
  await site.begin();
  worker.send({ type: 'start' });
  const [report] = await awaitSettled([worker], orders);
  const done = await site.done();
  const beside = before ? [cpuBetween(before, await server.cpuTime())] : [];
  await worker.stop();
  if (report === undefined) throw new Error('a worker gave no report');
  const accounting = account([report], orders, await left(site.url));
  await site.drop();
  const seconds = Number(report.lastSettledAtNs - report.firstHandledAtNs) / 1e9;
  return {
    perSecond: (orders - accounting.lost) / seconds,
    server: microsEach(sumOf([done.cpu, ...beside]), orders),
    worker: microsEach(report.cpu, orders),
    claims: report.claims === 0 ? Number.NaN : report.claims / orders,
    commits: done.transactions / orders,
    roundTrips: report.roundTrips / orders,
    accounting,
  };
}

const microsEach = ({ user, kernel }: CpuTime, count: number): CpuTime => ({
  user: (user * 1e6) / count,
  kernel: (kernel * 1e6) / count,
});

async function build(
  adapter: Adapter,
  url: string,
  orders: number,
  ofShop: boolean,
): Promise<void> {
  await adapter.prepare(url);
  if (!ofShop) {
    await withClient(url, async (client) => {
      await client.query(ORDERS.create);
      await client.query(ORDERS.fill, [orders]);
    });
  }
  await adapter.fill(url, { first: 0, count: orders, dueFromMs: -60_000, dueToMs: -1_000 });
}
