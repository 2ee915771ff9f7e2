import { setTimeout as pause } from 'node:timers/promises';
import { OURS } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { setVacuums } from './churn-settings.js';
import { Traffic } from './churn-traffic.js';
import { look } from './churn-watch.js';
import {
  delayTable,
  historyTable,
  PHASES,
  type Phase,
  type Run,
  type Variant,
} from './churn-vacuum-tables.js';
import { figure, type Table } from './report/table.js';
import { percentile } from './report/statistics.js';
import { connect } from './server/bench-server.js';
import { holdSnapshot } from './server/held-snapshot.js';

/** Statistics are that old at most, and so is what a phase begins or ends with. */
const STATISTICS_MS = 1_100;

/** How often autovacuum looks: a minute here shows what an hour does elsewhere. */
const NAPTIME_S = 1;

/**
 * Which autovacuum settings the tables should have: a steady rate of delays in front of many that
 * wait, autovacuum itself at work, and in the middle third a snapshot that keeps it from removing
 * anything.
 */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = settings.vacuums.flatMap((vacuums) =>
    settings.fillfactors.map((fillfactor) => ({
      title: `vacuums · ${vacuums} · fillfactor ${fillfactor}`,
      vacuums,
      fillfactor,
    })),
  );
  const server = await bench.server();
  const nap = (value: string): Promise<unknown> =>
    server.client
      .query(`ALTER SYSTEM ${value}`)
      .then(() => server.client.query('SELECT pg_reload_conf()'));
  await nap(`SET autovacuum_naptime = ${NAPTIME_S}`);
  try {
    const results = await interleaved(bench, variants, (variant) => measure(bench, variant), shown);
    const notes = notesOf(bench);
    return [delayTable(notes, results), historyTable(notes, results)];
  } finally {
    await nap('RESET autovacuum_naptime');
  }
}

const shown = ({ phases, recoveredSeconds }: Run): string =>
  `claim p99 ${phases.map((phase) => figure(percentile(phase.measured.claimMs, 0.99), 1)).join(' / ')} ms, ` +
  `dead ${phases.map(({ after }) => figure(after.delay.deadRows)).join(' / ')}, ` +
  `recovered after ${figure(recoveredSeconds, 1)} s`;

async function measure(bench: Bench, { vacuums, fillfactor }: Variant): Promise<Run> {
  const { churnWaiting, churnRate, churnSeconds, churnKeepSeconds } = bench.settings;
  const server = await bench.server();
  const { url, drop } = await server.database(`churn-vacuum-${fillfactor}`, async (built) => {
    await OURS.prepare(built);
    await fill(built, fillfactor, churnWaiting, churnRate * churnKeepSeconds);
  });
  const observer = await connect(url);
  await setVacuums(observer, vacuums);
  const traffic = new Traffic(churnRate, churnKeepSeconds * 1_000);
  await traffic.start(url);
  // The first statements are parsed and planned, and the first rows are due.
  await pause(2_000);
  traffic.take();

  const phases: Phase[] = [];
  let recoveredSeconds = Number.NaN;
  for (const phase of PHASES) {
    const holder = phase === 'held' ? await holdSnapshot(url) : undefined;
    const recovery = phase === 'after' ? watchRecovery(url, churnRate) : undefined;
    const before = await look(observer);
    await pause((churnSeconds * 1_000) / PHASES.length);
    phases.push({ measured: traffic.take(), before, after: await look(observer) });
    await holder?.end();
    recoveredSeconds = (await recovery?.stop()) ?? recoveredSeconds;
  }
  await traffic.stop();
  await observer.end();
  await drop();
  return { phases, recoveredSeconds };
}

/** Delays far in the future, and history that is about to be pruned. */
async function fill(
  url: string,
  fillfactor: number,
  waiting: number,
  lines: number,
): Promise<void> {
  const client = await connect(url);
  await client.query(`ALTER TABLE delay_queue.delay SET (fillfactor = ${fillfactor})`);
  await client.query(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'bench.run', 'far ' || n, jsonb_build_object('orderId', n::text), at, at, now()
     FROM generate_series(1, $1::int) n, LATERAL (SELECT now() + interval '7 days' + n * interval '1 ms') t(at)`,
    [waiting],
  );
  await client.query(
    `INSERT INTO delay_queue.history
       (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node)
     SELECT -n, now() - n * interval '1 ms', now(), now(), 1.5, 1, 1, 'completed', 'bench.run',
            'far ' || n, 'bench'
     FROM generate_series(1, $1::int) n`,
    [lines],
  );
  await client.end();
}

/** Watches from now on; `stop` answers after how many seconds it was over. */
function watchRecovery(url: string, rate: number): { stop(): Promise<number> } {
  const startedAtMs = performance.now();
  // What dies between two naps is always there.
  const usual = rate * 2 * (NAPTIME_S + STATISTICS_MS / 1_000);
  const watch = { stopped: false };
  const watching = (async () => {
    const observer = await connect(url);
    let seconds = Number.NaN;
    while (!watch.stopped && Number.isNaN(seconds)) {
      await pause(200);
      const { delay } = await look(observer);
      if (delay.deadRows < usual) seconds = (performance.now() - startedAtMs) / 1_000;
    }
    await observer.end();
    return seconds;
  })();
  return {
    stop: () => {
      watch.stopped = true;
      return watching;
    },
  };
}

const notesOf = ({ settings }: Bench): string[] => [
  `${figure(settings.churnRate)} delays/s for ${settings.churnSeconds} s; the snapshot is held in the ` +
    `second third; ${figure(settings.churnWaiting)} wait for next week; history kept for ` +
    `${settings.churnKeepSeconds} s`,
  `autovacuum itself, which looks every ${NAPTIME_S} s; sizes and dead rows at the end of each phase`,
];
