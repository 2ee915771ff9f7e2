import { type Adapter, fillBeside } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { account, type Accounting, LOST_OR_TWICE } from './measure/accounting.js';
import { openSite } from './measure/site.js';
import { awaitSettled } from './processes/await-settled.js';
import { BenchProcess } from './processes/bench-process.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';

interface OverdueOf extends Variant {
  adapter: Adapter;
  pending: number;
}

interface Overdue {
  /** From the start of the node. */
  firstMs: number;
  lastMs: number;
  longestBlockMs: number;
  memoryAtStartMiB: number;
  memoryMostMiB: number;
  accounting: Accounting;
}

/** All of them due in the hour before, when no node was up. */
const DUE_FROM_MS = -3_600_000;
const DUE_TO_MS = -1_000;

const MEBIBYTE = 2 ** 20;

const COLUMNS: readonly Column<Overdue>[] = [
  { title: 'first handler ms', of: (overdue) => overdue.firstMs },
  { title: 'last done ms', of: (overdue) => overdue.lastMs },
  { title: 'longest block ms', of: (overdue) => overdue.longestBlockMs, digits: 1 },
  { title: 'MiB at start', of: (overdue) => overdue.memoryAtStartMiB },
  { title: 'MiB at most', of: (overdue) => overdue.memoryMostMiB },
];

/** One node starts after an outage and finds a crowd. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = settings.pending.flatMap((pending) =>
    adaptersLike(settings.systems).map((adapter) => ({
      title: `${adapter.name} beside ${figure(pending)}`,
      adapter,
      pending,
    })),
  );
  const table = await compare(bench, {
    name: 'overdue',
    title: `Start of one node with ${figure(settings.overdue)} overdue`,
    notes: [
      `the handler does nothing; concurrency ${settings.concurrency.at(-1) ?? 'as it comes'} (ours)`,
      'times from the start of the worker, connected and compiled',
      '"longest block": what the event loop of the worker was kept from doing anything else',
      '"MiB": resident memory of the worker process, Node and compiled sources included',
      '"beside": delays that are due in one to thirty days',
      ...new Set(variants.map(({ adapter }) => adapter.settings)),
    ],
    variants,
    measure: (variant) => measure(bench, variant),
    labels: { system: ({ adapter }) => adapter.name, beside: ({ pending }) => figure(pending) },
    columns: COLUMNS,
    sums: LOST_OR_TWICE,
  });
  return [table];
}

async function measure(bench: Bench, { adapter, pending }: OverdueOf): Promise<Overdue> {
  const { overdue: count, concurrency: chosen } = bench.settings;
  const concurrency = chosen.at(-1);
  const site = await openSite(bench, adapter, `overdue ${adapter.name} ${pending}`, async (url) => {
    await adapter.prepare(url);
    await fillBeside(adapter, url, pending);
    await adapter.fill(url, { first: 0, count, dueFromMs: DUE_FROM_MS, dueToMs: DUE_TO_MS });
  });
  const worker = await BenchProcess.open({
    role: 'worker',
    system: adapter.name,
    url: site.url,
    count,
    running: { handler: 'plain', concurrency },
    watchesLoop: true,
  });
  const startedAtNs = process.hrtime.bigint();
  worker.send({ type: 'start' });
  const reports = await awaitSettled([worker], count);
  const [report] = reports;
  if (report === undefined) throw new Error('a worker gave no report');
  await worker.stop();
  const accounting = account(reports, count, (await adapter.left(site.url)) - pending);
  await site.drop();
  const sinceStartMs = (atNs: bigint): number =>
    atNs === 0n ? Number.NaN : Number(atNs - startedAtNs) / 1e6;
  return {
    firstMs: sinceStartMs(report.firstHandledAtNs),
    lastMs: sinceStartMs(report.lastSettledAtNs),
    longestBlockMs: report.longestBlockMs,
    memoryAtStartMiB: report.memory.atStartBytes / MEBIBYTE,
    memoryMostMiB: report.memory.mostBytes / MEBIBYTE,
    accounting,
  };
}
