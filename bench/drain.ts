import type { Adapter, HandlerKind, Running } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { account, type Accounting, LOST_OR_TWICE } from './measure/accounting.js';
import { openBeside, statementSource } from './measure/site.js';
import { awaitSettled, BenchProcess } from './processes/bench-process.js';
import type { WorkerReport } from './processes/protocol.js';
import { largest } from './report/statistics.js';
import { type Column, figure, type Table } from './report/table.js';
import type { Settings, Workers } from './run/command-line.js';
import { type Bench, measured, tableOf, type Variant } from './run/scenario.js';
import { withClient } from './server/bench-server.js';

interface DrainOf extends Variant {
  adapter: Adapter;
  workers: Workers;
  running: Running;
  processes: number;
  /** Delays of the far future beside those that are due. */
  backlog: number;
}

interface Drain {
  perSecond: number;
  /** Once all processes are at work. */
  onceWarmPerSecond: number;
  longestPauseMs: number;
  /** The largest of all processes. */
  firstHandlerMs: number;
  longestBlockMs: number;
  memoryMiB: number;
  workerMicros: number;
  serverMicros: number;
  statements: number;
  walBytes: number;
  accounting: Accounting;
}

/** Delays of each process before the measured ones: a worker that has run for a while is compiled. */
const WARM_UP = 5_000;

/**
 * So often, each time in an application of its own. What V8 compiled for the objects of the first one it
 * throws away at the second (`--trace-deopt`: wrong map); by then the code is good for any.
 */
const WARM_UPS = 3;

const COLUMNS: readonly Column<Drain>[] = [
  { title: 'delays/s', of: (drain) => drain.perSecond },
  { title: 'once warm', of: (drain) => drain.onceWarmPerSecond },
  { title: 'first handler ms', of: (drain) => drain.firstHandlerMs },
  { title: 'longest pause ms', of: (drain) => drain.longestPauseMs },
  { title: 'longest block ms', of: (drain) => drain.longestBlockMs, digits: 1 },
  { title: 'MiB at most', of: (drain) => drain.memoryMiB },
  { title: 'worker µs/delay', of: (drain) => drain.workerMicros, digits: 1 },
  { title: 'server µs/delay', of: (drain) => drain.serverMicros, digits: 1 },
  { title: 'statements/delay', of: (drain) => drain.statements, digits: 4 },
  { title: 'WAL bytes/delay', of: (drain) => drain.walBytes },
];

/** A backlog of due delays, emptied by handlers that do next to nothing: the cost of the queue itself. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const source = await statementSource(bench);
  const comparison = {
    variants: variantsOf(bench),
    measure: (variant: DrainOf) => measure(bench, variant),
    labels: {
      system: ({ adapter }: DrainOf) => adapter.name,
      handler: ({ running }: DrainOf) => running.handler,
      concurrency: shownConcurrency,
      processes: ({ processes }: DrainOf) => String(processes),
      beside: ({ backlog }: DrainOf) => figure(backlog),
    },
    columns: COLUMNS,
    ratios: [{ title: 'ratio', of: ({ perSecond }: Drain) => perSecond, isTo: isOwn }],
    sums: LOST_OR_TWICE,
  };
  const results = await measured(bench, { name: 'drain', title: '', notes: [], ...comparison });
  return settings.workers.map((workers) => {
    const { name, title, notes } = TOLD[workers];
    const shown = results.filter(({ variant }) => variant.workers === workers);
    return tableOf(
      {
        ...comparison,
        name,
        title: `Drain of ${figure(settings.count)} ${title}`,
        notes: [
          ...notes,
          '"once warm": the pace at which handlers began between four and nine tenths of the delays',
          '"longest pause": between two delays that a process was done with; "longest block": its event loop did nothing else',
          '"MiB": resident memory of a process, Node and compiled sources included',
          'plain: a handler that does nothing; async: the same as an async function',
          'concurrency per process; the other systems have their settings from their documentation',
          source,
          'WAL with the full pages that follow a checkpoint, which each round begins with',
          '"ratio": to the own drain of the same round without delays of the far future',
          ...new Set(shown.map(({ variant }) => variant.adapter.settings)),
        ],
      },
      shown,
    );
  });
}

const shownConcurrency = ({ adapter, running }: DrainOf): string =>
  adapter.takesConcurrency ? figureOr(running.concurrency, 'default') : 'its own';

const figureOr = (value: number | undefined, otherwise: string): string =>
  value === undefined ? otherwise : figure(value);

const TOLD: Readonly<Record<Workers, { name: string; title: string; notes: readonly string[] }>> = {
  cold: {
    name: 'drain-cold',
    title: 'due delays, by processes that have never run one',
    notes: [
      'from the start of all workers, connected, to the last delay done with: V8 compiles what it runs meanwhile',
    ],
  },
  starting: {
    name: 'drain',
    title: 'due delays',
    notes: [
      'from the start of all workers, connected and compiled, to the last delay done with; what ' +
        'the start costs is among the figures',
      `each process has drained ${figure(WARM_UP)} others before, ${WARM_UPS} times, and was stopped and opened again`,
    ],
  },
  standing: {
    name: 'drain-standing',
    title: 'delays due at the same moment, by workers that are up',
    notes: [
      'from the start of the first handler to the last delay done with; reading ahead is among the figures',
      `each process has drained ${figure(WARM_UP)} others before, ${WARM_UPS} times, and was not stopped after the last`,
    ],
  },
};

function variantsOf({ settings }: Bench): DrainOf[] {
  const backlogs = settings.backlog === 0 ? [0] : [0, settings.backlog];
  return settings.workers.flatMap((workers) =>
    adaptersLike(settings.systems).flatMap((adapter) =>
      runningsOf(adapter, settings).flatMap((running) =>
        settings.processes.flatMap((processes) =>
          backlogs.map((backlog) => ({
            title:
              `${adapter.name} · ${running.handler}` +
              (running.concurrency === undefined ? '' : ` · ${running.concurrency} at a time`) +
              ` · ${processes} ${workers} process${processes > 1 ? 'es' : ''}` +
              (backlog === 0 ? '' : ` · beside ${figure(backlog)}`),
            adapter,
            workers,
            running,
            processes,
            backlog,
          })),
        ),
      ),
    ),
  );
}

/** Where an adapter names none: the handler does nothing, in whatever way that system calls it. */
const NOTHING: readonly HandlerKind[] = ['plain', 'async'];

/** Each handler that the system can be given, at each concurrency where it lets one choose. */
const runningsOf = (adapter: Adapter, { handlers, concurrency }: Settings): Running[] =>
  handlers
    .filter((handler) => (adapter.handlers ?? NOTHING).includes(handler))
    .flatMap((handler) =>
      adapter.takesConcurrency
        ? concurrency.map((most) => ({ handler, concurrency: most }))
        : [{ handler }],
    );

/** The same without anything beside it. */
const isOwn = (variant: DrainOf, other: DrainOf): boolean =>
  variant.backlog > 0 &&
  other.adapter === variant.adapter &&
  other.workers === variant.workers &&
  other.running === variant.running &&
  other.processes === variant.processes &&
  other.backlog === 0;

/** One drain, with everything that comes before and after it. */
async function measure(bench: Bench, variant: DrainOf): Promise<Drain> {
  const { adapter, running, processes, backlog } = variant;
  const { count } = bench.settings;
  const site = await openBeside(bench, adapter, backlog, { countStatements: true });
  const workers = await Promise.all(
    Array.from({ length: processes }, () =>
      BenchProcess.open({
        role: 'worker',
        system: adapter.name,
        url: site.url,
        count,
        running,
        watchesLoop: true,
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
  const firstAtNs = startsAtNs.find((atNs) => atNs > 0n);
  const beganAtNs = isStanding ? firstAtNs : startedAtNs;
  const endedAtNs = inOrder(reports.map((report) => report.lastSettledAtNs)).at(-1);
  const workerCpuSeconds = reports.reduce((total, report) => total + report.cpuSeconds, 0);
  return {
    perSecond: (count - accounting.lost) / secondsBetween(beganAtNs, endedAtNs),
    onceWarmPerSecond: onceWarmPerSecond(reports),
    firstHandlerMs: secondsBetween(beganAtNs, firstAtNs) * 1_000,
    longestPauseMs: largest(reports.map((report) => report.longestPauseMs)),
    longestBlockMs: largest(reports.map((report) => report.longestBlockMs)),
    memoryMiB: largest(reports.map((report) => report.memoryBytes)) / 2 ** 20,
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

/** As after a while: the rows of the warm-up are gone for good, and the planner knows the others. */
async function settle(bench: Bench, url: string): Promise<void> {
  await withClient(url, (client) => client.query('VACUUM (ANALYZE)'));
  await (await bench.server()).client.query('CHECKPOINT');
}

/** @param first number of the first delay that is not measured */
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
