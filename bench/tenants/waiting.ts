import { setTimeout as pause } from 'node:timers/promises';
import { DelayService, OnDelay } from 'nestjs-delay-queue';
import { compile, OURS, prepare } from '../adapters/ours.js';
import { type Bench, interleaved } from '../bench.js';
import { cellsOf, type Column, figure, type Table } from '../report/table.js';
import { connect } from '../server/bench-server.js';
import { ServerCpu } from '../server/server-cpu.js';
import { openSite } from '../site.js';

interface Variant {
  title: string;
  waiting: number;
}

/** Milliseconds of a processor for each delay that runs. */
interface PerDelay {
  processMs: number;
  serverMs: number;
}

const SECONDS = 15;
/** Of groups that wait for nothing. */
const PER_SECOND = 50;

const VARIANTS: readonly Variant[] = [0, 1_000, 10_000, 160_000].map((waiting) => ({
  title: `beside ${figure(waiting)} groups that wait`,
  waiting,
}));

const COLUMNS: readonly Column<PerDelay>[] = [
  { title: 'process ms each', of: ({ processMs }) => processMs, digits: 2 },
  { title: 'server ms each', of: ({ serverMs }) => serverMs, digits: 2 },
];

/** Two of each group, of which one may begin in an hour. */
const FILL = `
  INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
  SELECT 'bench.run', '{"n": 0}', due, due, clock_timestamp(), 'waits ' || n / 2
  FROM generate_series(0, 2 * $1::int - 1) AS n,
       LATERAL (SELECT date_trunc('milliseconds', now()) - interval '1 minute') AS d(due)`;

/** What a delay costs whose group is free, beside groups whose rate is used up. */
export async function besideWaiting(bench: Bench): Promise<Table> {
  const results = await interleaved(
    bench,
    VARIANTS,
    ({ waiting }) => measure(bench, waiting),
    ({ processMs, serverMs }) =>
      `process ${figure(processMs, 2)} ms, server ${figure(serverMs, 2)} ms each`,
  );
  return {
    name: 'tenants-waiting',
    title: 'Delays of free groups beside groups that wait for their rate',
    notes: [
      `one process, history on, ${PER_SECOND} delays a second for ${SECONDS} s, each of a new group; a rate of 1 an hour`,
      'everything that the process and the server do meanwhile is counted, loads and sweeps too',
    ],
    columns: ['', ...COLUMNS.map(({ title }) => title)],
    rows: results.map(({ variant, measurements }) => [
      variant.title,
      ...cellsOf(COLUMNS, measurements),
    ]),
  };
}

async function measure(bench: Bench, waiting: number): Promise<PerDelay> {
  const site = await openSite(bench, OURS, 'tenants-waiting', prepare);
  const client = await connect(site.url);
  let ended = 0;
  let reached: (() => void) | undefined;
  let target = Infinity;
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      target = count;
      reached = resolve;
      if (ended >= count) resolve();
    });
  class Handler {
    @OnDelay('bench.run', { concurrency: 500, perGroup: { rateLimit: { max: 1, per: '1h' } } })
    async run(): Promise<void> {
      await Promise.resolve();
      ended += 1;
      if (ended >= target) reached?.();
    }
  }
  await client.query(FILL, [waiting]);
  await client.query('ANALYZE');
  const app = await compile(site.url, {}, [Handler]);
  await app.init();
  await until(waiting);
  const delays = app.get(DelayService, { strict: false });
  const server = await ServerCpu.of(client, new URL(site.url).hostname);
  const serverBefore = await server.seconds();
  const before = process.cpuUsage();
  const count = SECONDS * PER_SECOND;
  const done = until(waiting + count);
  for (let n = 0; n < count; n += 1) {
    await delays.schedule('bench.run', { n }, { after: 0, group: `free ${n}` });
    await pause(1_000 / PER_SECOND);
  }
  await done;
  const { user, system } = process.cpuUsage(before);
  const serverSeconds = (await server.seconds()) - serverBefore;
  await app.close();
  await client.end();
  await site.drop();
  return {
    processMs: (user + system) / 1e3 / count,
    serverMs: (serverSeconds * 1e3) / count,
  };
}
