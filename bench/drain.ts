import { account, shownAccounting, type Accounting } from './accounting.js';
import type { Adapter } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import { awaitSettled } from './processes/await-settled.js';
import { BenchProcess } from './processes/bench-process.js';
import { largest } from './report/statistics.js';
import { figure, spread, type Table } from './report/table.js';

interface Variant {
  title: string;
  adapter: Adapter;
  processes: number;
}

interface Drain {
  perSecond: number;
  longestPauseMs: number;
  workerCpuSeconds: number;
  serverCpuSeconds: number;
  accounting: Accounting;
}

/** A backlog of due delays, emptied by handlers that do nothing: the cost of the queue itself. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = adaptersLike(settings.systems).flatMap((adapter) =>
    settings.processes.map((processes) => ({
      title: `drain · ${adapter.name} · ${processes} process${processes > 1 ? 'es' : ''}`,
      adapter,
      processes,
    })),
  );
  const results = await interleaved(
    bench,
    variants,
    (variant) => measure(bench, variant),
    (drain) =>
      `${figure(drain.perSecond)}/s, longest pause ${figure(drain.longestPauseMs)} ms, lost / twice ${shownAccounting([drain.accounting])}`,
  );
  const perDelay = (seconds: number): number => (seconds * 1e6) / settings.count;
  return [
    {
      title: `Drain of ${figure(settings.count)} due delays`,
      notes: [
        'from the start of all workers, connected and compiled, to the last delay done with',
        `the handler does nothing; concurrency ${settings.concurrency} per process (ours)`,
        ...new Set(variants.map(({ adapter }) => adapter.settings)),
      ],
      columns: [
        'system',
        'processes',
        'delays/s',
        'longest pause ms',
        'worker CPU s',
        'server CPU s',
        'worker µs/delay',
        'server µs/delay',
        'lost / twice',
      ],
      rows: results.map(({ variant, measurements }) => [
        variant.adapter.name,
        String(variant.processes),
        spread(measurements.map((drain) => drain.perSecond)),
        spread(measurements.map((drain) => drain.longestPauseMs)),
        spread(
          measurements.map((drain) => drain.workerCpuSeconds),
          2,
        ),
        spread(
          measurements.map((drain) => drain.serverCpuSeconds),
          2,
        ),
        spread(
          measurements.map((drain) => perDelay(drain.workerCpuSeconds)),
          1,
        ),
        spread(
          measurements.map((drain) => perDelay(drain.serverCpuSeconds)),
          1,
        ),
        shownAccounting(measurements.map((drain) => drain.accounting)),
      ]),
    },
  ];
}

async function measure(bench: Bench, { adapter, processes }: Variant): Promise<Drain> {
  const { count, concurrency } = bench.settings;
  const server = await bench.server();
  const { url, drop } = await server.database(`drain ${adapter.name}`, async (built) => {
    await adapter.prepare(built);
    await adapter.fill(built, { first: 0, count, dueFromMs: -60_000, dueToMs: -1_000 });
  });
  const workers = await Promise.all(
    Array.from({ length: processes }, () =>
      BenchProcess.open({
        role: 'worker',
        system: adapter.name,
        url,
        count,
        concurrency,
        ratePerSecond: 0,
      }),
    ),
  );
  const serverCpuAtStart = await server.cpu.seconds();
  const startedAtNs = process.hrtime.bigint();
  for (const worker of workers) worker.send('start');
  const reports = await awaitSettled(workers, count);
  const serverCpuSeconds = (await server.cpu.seconds()) - serverCpuAtStart;
  await Promise.all(workers.map((worker) => worker.stop()));
  const accounting = account(reports, count, await adapter.left(url));
  await drop();

  const endedAtNs = reports
    .map((report) => report.lastSettledAtNs)
    .reduce((latest, atNs) => (atNs > latest ? atNs : latest));
  return {
    perSecond: (count - accounting.lost) / (Number(endedAtNs - startedAtNs) / 1e9),
    longestPauseMs: largest(reports.map((report) => report.longestPauseMs)),
    workerCpuSeconds: reports.reduce((total, report) => total + report.cpuSeconds, 0),
    serverCpuSeconds,
    accounting,
  };
}
