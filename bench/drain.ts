import { account, shownAccounting, type Accounting } from './accounting.js';
import { type Adapter, BESIDE } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import type { Workers } from './command-line.js';
import { awaitSettled } from './processes/await-settled.js';
import { BenchProcess } from './processes/bench-process.js';
import type { WorkerReport } from './processes/protocol.js';
import { largest } from './report/statistics.js';
import { type Cell, cellsOf, type Column, figure, rounds, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { openSite, statementSource } from './site.js';

interface Variant {
  title: string;
  adapter: Adapter;
  workers: Workers;
  processes: number;
  /** Delays of the far future beside those that are due. */
  backlog: number;
}

interface Drain {
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

type Result = { variant: Variant; measurements: Drain[] };

const DAY_MS = 86_400_000;

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
  { title: 'longest pause ms', of: (drain) => drain.longestPauseMs },
  { title: 'worker µs/delay', of: (drain) => drain.workerMicros, digits: 1 },
  { title: 'server µs/delay', of: (drain) => drain.serverMicros, digits: 1 },
  { title: 'statements/delay', of: (drain) => drain.statements, digits: 4 },
  { title: 'WAL bytes/delay', of: (drain) => drain.walBytes },
];

/** A backlog of due delays, emptied by handlers that do nothing: the cost of the queue itself. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const results = await interleaved(
    bench,
    variantsOf(bench),
    (variant) => measure(bench, variant),
    (drain) =>
      `${figure(drain.perSecond)}/s, longest pause ${figure(drain.longestPauseMs)} ms, lost / twice ${shownAccounting([drain.accounting])}`,
  );
  const source = await statementSource(bench);
  return settings.workers.map((workers) => {
    const { name, title, notes } = TOLD[workers];
    const shown = results.filter(({ variant }) => variant.workers === workers);
    return {
      name,
      title: title(figure(settings.count)),
      notes: [
        ...notes,
        '"once warm": the pace at which handlers began between four and nine tenths of the delays',
        `the handler does nothing; concurrency ${settings.concurrency} per process (ours)`,
        source,
        'WAL with the full pages that follow a checkpoint, which each round begins with',
        '"ratio": to the own drain of the same round without delays of the far future',
        ...new Set(shown.map(({ variant }) => variant.adapter.settings)),
      ],
      columns: [
        'system',
        'processes',
        'beside',
        ...COLUMNS.map((column) => column.title),
        'ratio',
        'lost / twice',
      ],
      rows: shown.map((result) => row(result, ownOf(result, shown))),
    };
  });
}

const TOLD: Readonly<
  Record<Workers, { name: string; title: (count: string) => string; notes: readonly string[] }>
> = {
  starting: {
    name: 'drain',
    title: (count) => `Drain of ${count} due delays`,
    notes: [
      'from the start of all workers, connected and compiled, to the last delay done with; what ' +
        'the start costs is among the figures',
      `each process has drained ${figure(WARM_UP)} others before, ${WARM_UPS} times, and was stopped and opened again`,
    ],
  },
  standing: {
    name: 'drain-standing',
    title: (count) => `Drain of ${count} delays due at the same moment, by workers that are up`,
    notes: [
      'from the start of the first handler to the last delay done with; reading ahead is among the figures',
      `each process has drained ${figure(WARM_UP)} others before, ${WARM_UPS} times, the last time as it is`,
    ],
  },
};

function variantsOf({ settings }: Bench): Variant[] {
  const backlogs = settings.backlog === 0 ? [0] : [0, settings.backlog];
  return settings.workers.flatMap((workers) =>
    adaptersLike(settings.systems).flatMap((adapter) =>
      settings.processes.flatMap((processes) =>
        backlogs.map((backlog) => ({
          title:
            `drain · ${adapter.name} · ${processes} process${processes > 1 ? 'es' : ''}` +
            (workers === 'standing' ? ' standing' : '') +
            (backlog === 0 ? '' : ` · beside ${figure(backlog)}`),
          adapter,
          workers,
          processes,
          backlog,
        })),
      ),
    ),
  );
}

/** The same without anything beside it, among those of its table. */
const ownOf = ({ variant }: Result, results: readonly Result[]): Result | undefined =>
  results.find(
    (each) =>
      each.variant.adapter === variant.adapter &&
      each.variant.processes === variant.processes &&
      each.variant.backlog === 0,
  );

function row({ variant, measurements }: Result, own: Result | undefined): Cell[] {
  const ratios = measurements.map(
    (drain, round) => drain.perSecond / (own?.measurements[round]?.perSecond ?? Number.NaN),
  );
  return [
    variant.adapter.name,
    String(variant.processes),
    figure(variant.backlog),
    ...cellsOf(COLUMNS, measurements),
    variant.backlog === 0 ? '–' : rounds(ratios, 2),
    shownAccounting(measurements.map((drain) => drain.accounting)),
  ];
}

async function measure(bench: Bench, variant: Variant): Promise<Drain> {
  const { adapter, processes, backlog } = variant;
  const { count, concurrency } = bench.settings;
  const site = await openSite(
    bench,
    adapter,
    `drain ${adapter.name} ${backlog}`,
    (url) => prepare(adapter, url, backlog),
    { countStatements: true },
  );
  const workers = await Promise.all(
    Array.from({ length: processes }, () =>
      BenchProcess.open({
        role: 'worker',
        system: adapter.name,
        url: site.url,
        count,
        concurrency,
      }),
    ),
  );
  const isStanding = variant.workers === 'standing';
  for (let time = 1; time <= WARM_UPS; time += 1) {
    await warmUp(adapter, site.url, workers, count + (time - 1) * WARM_UP * processes);
    const staysUp = isStanding && time === WARM_UPS;
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

  const beganAtNs = (isStanding ? firstHandledAtNs(reports) : undefined) ?? startedAtNs;
  const endedAtNs = reports
    .map((report) => report.lastSettledAtNs)
    .reduce((latest, atNs) => (atNs > latest ? atNs : latest));
  const workerCpuSeconds = reports.reduce((total, report) => total + report.cpuSeconds, 0);
  return {
    perSecond: (count - accounting.lost) / (Number(endedAtNs - beganAtNs) / 1e9),
    onceWarmPerSecond: onceWarmPerSecond(reports),
    longestPauseMs: largest(reports.map((report) => report.longestPauseMs)),
    workerMicros: (workerCpuSeconds * 1e6) / count,
    serverMicros: (done.cpuSeconds * 1e6) / count,
    statements: done.statements / count,
    walBytes: done.walBytes / count,
    accounting,
  };
}

/** Of all workers; undefined when no handler started. */
const firstHandledAtNs = (reports: readonly WorkerReport[]): bigint | undefined =>
  reports
    .map((report) => report.firstHandledAtNs)
    .filter((atNs) => atNs > 0n)
    .toSorted((a, b) => (a < b ? -1 : 1))[0];

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

async function prepare(adapter: Adapter, url: string, backlog: number): Promise<void> {
  await adapter.prepare(url);
  if (backlog === 0) return;
  const first = BESIDE - (backlog - 1);
  await adapter.fill(url, { first, count: backlog, dueFromMs: DAY_MS, dueToMs: 30 * DAY_MS });
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
