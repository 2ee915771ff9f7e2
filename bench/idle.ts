import { setTimeout as pause } from 'node:timers/promises';
import type { Adapter } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { openBeside, statementSource } from './measure/site.js';
import { BenchProcess } from './processes/bench-process.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';

interface IdleOf extends Variant {
  adapter: Adapter;
  pending: number;
}

interface Idle {
  statementsPerSecond: number;
  workerCpuSeconds: number;
  serverCpuSeconds: number;
}

/** What starting costs is over by then: the first load, the first sweep, the first heartbeat. */
const SETTLE_MS = 3_000;

const COLUMNS: readonly Column<Idle>[] = [
  { title: 'statements/s', of: (idle) => idle.statementsPerSecond, digits: 2 },
  { title: 'worker CPU s', of: (idle) => idle.workerCpuSeconds, digits: 3 },
  { title: 'server CPU s', of: (idle) => idle.serverCpuSeconds, digits: 2 },
];

/** What a queue costs while nothing is due, beside many delays of the far future. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = settings.idlePending.flatMap((pending) =>
    adaptersLike(settings.systems).map((adapter) => ({
      title: `${adapter.name} · ${figure(pending)} pending`,
      adapter,
      pending,
    })),
  );
  const table = await compare(bench, {
    name: 'idle',
    title: `Idle for ${settings.idleSeconds} s`,
    notes: [
      `one process, all due tomorrow or later; ${await statementSource(bench)}`,
      "server CPU with the server's own background work",
      ...new Set(variants.map(({ adapter }) => adapter.settings)),
    ],
    variants,
    measure: (variant) => measure(bench, variant),
    labels: { system: ({ adapter }) => adapter.name, pending: ({ pending }) => figure(pending) },
    columns: COLUMNS,
  });
  return [table];
}

async function measure(bench: Bench, { adapter, pending }: IdleOf): Promise<Idle> {
  const { idleSeconds, concurrency: chosen } = bench.settings;
  const concurrency = chosen.at(-1);
  const site = await openBeside(bench, adapter, pending, { countStatements: true });
  const worker = await BenchProcess.open({
    role: 'worker',
    system: adapter.name,
    url: site.url,
    count: 0,
    running: { handler: 'plain', concurrency },
  });
  await worker.ask({ type: 'start' }, 'started');
  await pause(SETTLE_MS);
  const workerCpuAtStart = await workerCpu(worker);
  await site.begin();
  await pause(idleSeconds * 1_000);
  const done = await site.done();
  const workerCpuSeconds = (await workerCpu(worker)) - workerCpuAtStart;
  await worker.stop();
  await site.drop();
  return {
    statementsPerSecond: done.statements / idleSeconds,
    workerCpuSeconds,
    serverCpuSeconds: done.cpuSeconds,
  };
}

const workerCpu = async (worker: BenchProcess): Promise<number> =>
  (await worker.ask({ type: 'report' }, 'report')).cpuSeconds;
