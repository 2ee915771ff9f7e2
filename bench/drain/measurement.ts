import { account, type Accounting } from '../accounting.js';
import { type Adapter, fillBeside, ITEMS, type Running } from '../adapters/adapter.js';
import type { Bench } from '../bench.js';
import type { Workers } from '../command-line.js';
import { awaitSettled } from '../processes/await-settled.js';
import { BenchProcess } from '../processes/bench-process.js';
import type { WorkerReport } from '../processes/protocol.js';
import { largest } from '../report/statistics.js';
import { connect } from '../server/bench-server.js';
import { openSite } from '../site.js';

export interface Variant {
  title: string;
  adapter: Adapter;
  workers: Workers;
  running: Running;
  processes: number;
  /** Delays of the far future beside those that are due. */
  backlog: number;
}

export interface Drain {
  perSecond: number;
  /** Once all processes are at work. */
  onceWarmPerSecond: number;
  longestPauseMs: number;
  workerMicros: number;
  serverMicros: number;
  statements: number;
  walBytes: number;
  accounting: Accounting;
}

/** Delays of each process before the measured ones: a worker that has run for a while is compiled. */
export const WARM_UP = 5_000;

/**
 * So often, each time in an application of its own. What V8 compiled for the objects of the first one it
 * throws away at the second (`--trace-deopt`: wrong map); by then the code is good for any.
 */
export const WARM_UPS = 3;

/** One drain, with everything that comes before and after it. */
export async function measure(bench: Bench, variant: Variant): Promise<Drain> {
  const { adapter, running, processes, backlog } = variant;
  const { count } = bench.settings;
  const site = await openSite(
    bench,
    adapter,
    `drain ${adapter.name} ${backlog}`,
    (url) => prepare(adapter, url, { backlog, count }),
    { countStatements: true },
  );
  const workers = await Promise.all(
    Array.from({ length: processes }, () =>
      BenchProcess.open({
        role: 'worker',
        system: adapter.name,
        url: site.url,
        count,
        running,
      }),
    ),
  );
  const isStanding = variant.workers === 'standing';
  const warmUps = variant.workers === 'cold' ? 0 : WARM_UPS;
  for (let time = 1; time <= warmUps; time += 1) {
    await warmUp(adapter, site.url, workers, count + (time - 1) * WARM_UP * processes);
    const staysUp = isStanding && time === warmUps;
    await Promise.all(
      workers.map((worker) =>
        staysUp
          ? worker.ask({ type: 'forget' }, 'forgotten')
          : worker.ask({ type: 'reopen' }, 'reopened'),
      ),
    );
  }
  await adapter.fill(site.url, { first: 0, count, ...(isStanding ? AHEAD : OVERDUE) });
  await settle(bench, site.url);
  await site.begin();
  const startedAtNs = process.hrtime.bigint();
  if (!isStanding) for (const worker of workers) worker.send({ type: 'start' });
  const reports = await awaitSettled(workers, count);
  const done = await site.done();
  await Promise.all(workers.map((worker) => worker.stop()));
  const accounting = account(reports, count, (await adapter.left(site.url)) - backlog);
  await site.drop();

  const startsAtNs = inOrder(reports.map((report) => report.firstHandledAtNs));
  const beganAtNs = isStanding ? startsAtNs.find((atNs) => atNs > 0n) : startedAtNs;
  const endedAtNs = inOrder(reports.map((report) => report.lastSettledAtNs)).at(-1);
  const workerCpuSeconds = reports.reduce((total, report) => total + report.cpuSeconds, 0);
  return {
    perSecond: (count - accounting.lost) / secondsBetween(beganAtNs, endedAtNs),
    onceWarmPerSecond: onceWarmPerSecond(reports),
    longestPauseMs: largest(reports.map((report) => report.longestPauseMs)),
    workerMicros: (workerCpuSeconds * 1e6) / count,
    serverMicros: (done.cpuSeconds * 1e6) / count,
    statements: done.statements / count,
    walBytes: done.walBytes / count,
    accounting,
  };
}

const inOrder = (instantsNs: readonly bigint[]): bigint[] =>
  instantsNs.toSorted((a, b) => (a < b ? -1 : 1));

/** NaN when no handler ever started. */
const secondsBetween = (fromNs: bigint | undefined, toNs: bigint | undefined): number =>
  fromNs === undefined || toNs === undefined ? Number.NaN : Number(toNs - fromNs) / 1e9;

/** From the starts of all handlers, wherever they ran, on the database's clock. */
function onceWarmPerSecond(reports: readonly WorkerReport[]): number {
  const startsMs = reports
    .flatMap(({ dueMs, latenessMs }) => [...dueMs].map((due, n) => due + (latenessMs[n] ?? 0)))
    .toSorted((a, b) => a - b);
  const from = Math.floor(startsMs.length * 0.4);
  const to = Math.floor(startsMs.length * 0.9);
  const [fromMs = Number.NaN, toMs = Number.NaN] = [startsMs[from], startsMs[to]];
  return (to - from) / ((toMs - fromMs) / 1_000);
}

const OVERDUE = { dueFromMs: -60_000, dueToMs: -1_000 };

/** By then every node of ours has read ahead once more: it does so every 10 s. */
const AHEAD = { dueFromMs: 15_000, dueToMs: 15_000 };

async function prepare(
  adapter: Adapter,
  url: string,
  { backlog, count }: { backlog: number; count: number },
): Promise<void> {
  await adapter.prepare(url);
  const client = await connect(url);
  await client.query(ITEMS.create);
  // The handlers of the warm-up find none of theirs, and change nothing.
  await client.query(ITEMS.fill, [count]);
  await client.end();
  await fillBeside(adapter, url, backlog);
}

/** As after a while: the rows of the warm-up are gone for good, and the planner knows the others. */
async function settle(bench: Bench, url: string): Promise<void> {
  const client = await connect(url);
  await client.query('VACUUM (ANALYZE)');
  await client.end();
  await (await bench.server()).client.query('CHECKPOINT');
}

/** @param first number of the first delay that nobody measures */
async function warmUp(
  adapter: Adapter,
  url: string,
  workers: readonly BenchProcess[],
  first: number,
): Promise<void> {
  const count = WARM_UP * workers.length;
  await adapter.fill(url, { first, count, ...OVERDUE });
  for (const worker of workers) worker.send({ type: 'start' });
  await awaitSettled(workers, count);
}
