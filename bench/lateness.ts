import type { Adapter } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { account, type Accounting, LOST_OR_TWICE } from './measure/accounting.js';
import { openBeside } from './measure/site.js';
import { awaitSettled, BenchProcess } from './processes/bench-process.js';
import type { WorkerReport } from './processes/protocol.js';
import { type Percentiles, percentilesOf } from './report/statistics.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';

const SECONDS = 10;

interface LatenessOf extends Variant {
  adapter: Adapter;
  ratePerSecond: number;
  pending: number;
}

interface Lateness {
  while: Percentiles;
  /** Of what became due when nothing was scheduled any more. */
  after: Percentiles;
  early: number;
  ownDifferenceMs: number;
  /** First call to last answer, over the time it should take: more than 1 is too slow. */
  pace: number;
  workerCpuSeconds: number;
  serverCpuSeconds: number;
  accounting: Accounting;
}

const COLUMNS: readonly Column<Lateness>[] = [
  { title: 'p50', of: (lateness) => lateness.while.p50Ms, digits: 1 },
  { title: 'p99', of: (lateness) => lateness.while.p99Ms, digits: 1 },
  { title: 'max', of: (lateness) => lateness.while.maxMs, digits: 1 },
  { title: 'after p50', of: (lateness) => lateness.after.p50Ms, digits: 1 },
  { title: 'after p99', of: (lateness) => lateness.after.p99Ms, digits: 1 },
  { title: 'after max', of: (lateness) => lateness.after.maxMs, digits: 1 },
  { title: 'pace', of: (lateness) => lateness.pace, digits: 2 },
  { title: 'own', of: (lateness) => lateness.ownDifferenceMs, digits: 1 },
  { title: 'worker CPU s', of: (lateness) => lateness.workerCpuSeconds, digits: 2 },
  { title: 'server CPU s', of: (lateness) => lateness.serverCpuSeconds, digits: 2 },
];

/** Handler start minus due, for delays that another process schedules 1 to 3 s ahead. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const { seconds = SECONDS } = settings;
  const variants = settings.pending.flatMap((pending) =>
    settings.rates.flatMap((ratePerSecond) =>
      adaptersLike(settings.systems).map((adapter) => ({
        title: `${adapter.name} · ${ratePerSecond}/s beside ${figure(pending)}`,
        adapter,
        ratePerSecond,
        pending,
      })),
    ),
  );
  const table = await compare(bench, {
    name: 'lateness',
    title: `Lateness in ms, scheduled from another process for ${seconds} s`,
    notes: [
      "handler start minus due on the database's clock, taken by the bench in the same way for all",
      '"after": due when scheduling had stopped, so that no insert wakes a worker',
      '"early": starts before due by more than the uncertainty of the comparison of clocks',
      '"pace": time to schedule over time intended; "own": what the system says differs by up to',
      ...new Set(variants.map(({ adapter }) => adapter.settings)),
    ],
    variants,
    measure: (variant) => measure(bench, variant, seconds),
    labels: {
      system: ({ adapter }) => adapter.name,
      'rate/s': ({ ratePerSecond }) => figure(ratePerSecond),
      beside: ({ pending }) => figure(pending),
    },
    columns: COLUMNS,
    sums: {
      early: (all) => figure(all.reduce((total, { early }) => total + early, 0)),
      ...LOST_OR_TWICE,
    },
  });
  return [table];
}

async function measure(bench: Bench, variant: LatenessOf, seconds: number): Promise<Lateness> {
  const { adapter, ratePerSecond, pending } = variant;
  const concurrency = bench.settings.concurrency.at(-1);
  const running = { handler: 'plain', concurrency } as const;
  const count = ratePerSecond * seconds;
  const site = await openBeside(bench, adapter, pending);
  const { url } = site;
  const [worker, producer] = await Promise.all([
    BenchProcess.open({ role: 'worker', system: adapter.name, url, count, running }),
    BenchProcess.open({ role: 'producer', system: adapter.name, url }),
  ]);
  await site.begin();
  worker.send({ type: 'start' });
  const { stoppedAtMs, answeredInMs } = await producer.ask(
    { type: 'produce', count, ratePerSecond },
    'produced',
    (seconds + 60) * 1_000,
  );
  const [report] = await awaitSettled([worker], count);
  const { cpuSeconds: serverCpuSeconds } = await site.done();
  await Promise.all([worker.stop(), producer.stop()]);
  const leftBehind = (await adapter.left(url)) - pending;
  await site.drop();
  if (report === undefined) throw new Error('a worker gave no report');
  return {
    ...punctualityOf(report, stoppedAtMs),
    ownDifferenceMs: report.ownDifferenceMs,
    pace: answeredInMs / (seconds * 1_000),
    workerCpuSeconds: report.cpuSeconds,
    serverCpuSeconds,
    accounting: account([report], count, leftBehind),
  };
}

function punctualityOf(
  { dueMs, latenessMs, uncertaintyMs }: WorkerReport,
  stoppedAtMs: number,
): Pick<Lateness, 'while' | 'after' | 'early'> {
  const [during, after]: [number[], number[]] = [[], []];
  let early = 0;
  for (const [index, lateMs] of latenessMs.entries()) {
    if (lateMs < -uncertaintyMs) early += 1;
    ((dueMs[index] ?? 0) <= stoppedAtMs ? during : after).push(lateMs);
  }
  return { while: percentilesOf(during), after: percentilesOf(after), early };
}
