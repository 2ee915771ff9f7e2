import { setTimeout as pause } from 'node:timers/promises';
import { DelayService, OnDelay } from 'nestjs-delay-queue';
import { compile, OURS, prepare } from '../adapters/ours.js';
import { openSite } from '../measure/site.js';
import { type Column, figure, type Table } from '../report/table.js';
import { type Bench, compare } from '../run/scenario.js';
import { connect } from '../server/bench-server.js';
import { cpuSecondsOf, ownCpuTime } from '../server/process-cpu.js';

/** Milliseconds of a processor for each delay that runs. */
interface PerDelay {
  processMs: number;
  serverMs: number;
}

/** Of groups that wait for nothing. */
const PER_SECOND = 50;

/** To build its database, and to stop. */
const SETUP_SECONDS = 5;
/** Groups of which the first delay runs in a second, before the measurement: a rough guess. */
const USED_UP_PER_SECOND = 4_000;
const TELL_EVERY_MS = 5_000;

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
  const { tenantSeconds, waiting } = bench.settings;
  return compare(bench, {
    name: 'tenants-waiting',
    title: 'Delays of free groups beside groups that wait for their rate',
    notes: [
      `one process, history on, ${PER_SECOND} delays a second for ${tenantSeconds} s, each of a new group; a rate of 1 an hour`,
      'everything that the process and the server do meanwhile is counted, loads and sweeps too',
    ],
    variants: waiting.map((each) => ({
      title: `beside ${figure(each)} groups that wait`,
      waiting: each,
    })),
    measure: (variant) => measure(bench, variant.waiting, tenantSeconds),
    labels: { '': ({ title }) => title },
    columns: COLUMNS,
    expectedSeconds: (variant) =>
      tenantSeconds + SETUP_SECONDS + variant.waiting / USED_UP_PER_SECOND,
  });
}

async function measure(bench: Bench, waiting: number, seconds: number): Promise<PerDelay> {
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
  const tell = setInterval(
    () =>
      bench.progress(
        `${figure(ended)} of ${figure(waiting)} groups have used up their rate so far`,
      ),
    TELL_EVERY_MS,
  );
  await until(waiting).finally(() => clearInterval(tell));
  const delays = app.get(DelayService, { strict: false });
  await site.begin();
  const before = ownCpuTime();
  const count = seconds * PER_SECOND;
  const done = until(waiting + count);
  for (let n = 0; n < count; n += 1) {
    await delays.schedule('bench.run', { n }, { after: 0, group: `free ${n}` });
    await pause(1_000 / PER_SECOND);
  }
  await done;
  const processSeconds = cpuSecondsOf(ownCpuTime(before));
  const { cpuSeconds: serverSeconds } = await site.done();
  await app.close();
  await client.end();
  await site.drop();
  return {
    processMs: (processSeconds * 1e3) / count,
    serverMs: (serverSeconds * 1e3) / count,
  };
}
