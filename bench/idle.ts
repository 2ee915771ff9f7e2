import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { type Adapter, BESIDE } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import { BenchProcess } from './processes/bench-process.js';
import { figure, spread, type Table } from './report/table.js';
import type { BenchDatabase, BenchServer } from './server/bench-server.js';

interface Idle {
  statementsPerSecond: number;
  workerCpuSeconds: number;
  serverCpuSeconds: number;
}

/** What starting costs is over by then: the first load, the first sweep, the first heartbeat. */
const SETTLE_MS = 3_000;

const DAY_MS = 86_400_000;

/** What a queue costs while nothing is due, beside many delays of the far future. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = adaptersLike(settings.systems).map((adapter) => ({
    title: `idle · ${adapter.name}`,
    adapter,
  }));
  const counted = await StatementCounter.of(await bench.server());
  const results = await interleaved(
    bench,
    variants,
    ({ adapter }) => measure(bench, adapter, counted),
    (idle) =>
      `${figure(idle.statementsPerSecond, 2)} statements/s, ` +
      `server CPU ${figure(idle.serverCpuSeconds, 2)} s`,
  );
  return [
    {
      title: `Idle for ${settings.idleSeconds} s with ${figure(settings.idlePending)} pending`,
      notes: [
        `one process, all due tomorrow or later; statements by ${counted.source}`,
        "server CPU with the server's own background work",
        ...variants.map(({ adapter }) => adapter.settings),
      ],
      columns: ['system', 'statements/s', 'worker CPU s', 'server CPU s'],
      rows: results.map(({ variant, measurements }) => [
        variant.adapter.name,
        spread(
          measurements.map((idle) => idle.statementsPerSecond),
          2,
        ),
        spread(
          measurements.map((idle) => idle.workerCpuSeconds),
          3,
        ),
        spread(
          measurements.map((idle) => idle.serverCpuSeconds),
          2,
        ),
      ]),
    },
  ];
}

async function measure(bench: Bench, adapter: Adapter, counted: StatementCounter): Promise<Idle> {
  const { idlePending, idleSeconds, concurrency } = bench.settings;
  const server = await bench.server();
  const database = await server.database(`idle ${adapter.name}`, async (url) => {
    await adapter.prepare(url);
    if (idlePending === 0) return;
    const first = BESIDE - (idlePending - 1);
    await adapter.fill(url, { first, count: idlePending, dueFromMs: DAY_MS, dueToMs: 30 * DAY_MS });
  });
  await counted.watch(database);
  const { url } = database;
  const worker = await BenchProcess.open({
    role: 'worker',
    system: adapter.name,
    url,
    count: 0,
    concurrency,
    ratePerSecond: 0,
  });
  worker.send('start');
  await pause(SETTLE_MS);
  const before = await counted.count(database);
  const serverCpuAtStart = await server.cpu.seconds();
  const workerCpuAtStart = await workerCpu(worker);
  await pause(idleSeconds * 1_000);
  const workerCpuSeconds = (await workerCpu(worker)) - workerCpuAtStart;
  const serverCpuSeconds = (await server.cpu.seconds()) - serverCpuAtStart;
  const statements = (await counted.count(database)) - before;
  await worker.stop();
  await database.drop();
  return { statementsPerSecond: statements / idleSeconds, workerCpuSeconds, serverCpuSeconds };
}

async function workerCpu(worker: BenchProcess): Promise<number> {
  const report = worker.next('report');
  worker.send('report');
  return (await report).cpuSeconds;
}

/** Counts the statements of one database, from a connection to another one. */
class StatementCounter {
  private constructor(
    private readonly client: Client,
    readonly source: 'pg_stat_statements' | 'transactions in pg_stat_database, autovacuum included',
  ) {}

  static async of(server: BenchServer): Promise<StatementCounter> {
    const { client } = server;
    const { rows } = await client.query<{ libraries: string }>(
      "SELECT current_setting('shared_preload_libraries') AS libraries",
    );
    // A server that is not ours may do without; nothing is installed there then.
    if (!rows[0]?.libraries.includes('pg_stat_statements')) {
      return new StatementCounter(client, 'transactions in pg_stat_database, autovacuum included');
    }
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    return new StatementCounter(client, 'pg_stat_statements');
  }

  /** Before the worker connects: the setting takes hold of connections opened from then on. */
  async watch({ name }: BenchDatabase): Promise<void> {
    if (this.source !== 'pg_stat_statements') return;
    await this.client.query(`ALTER DATABASE ${name} SET pg_stat_statements.track = 'top'`);
  }

  async count({ name }: BenchDatabase): Promise<number> {
    const sql =
      this.source === 'pg_stat_statements'
        ? `SELECT COALESCE(sum(calls), 0)::float8 AS count
           FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1`
        : 'SELECT xact_commit::float8 AS count FROM pg_stat_database WHERE datname = $1';
    const { rows } = await this.client.query<{ count: number }>(sql, [name]);
    return rows[0]?.count ?? Number.NaN;
  }
}
