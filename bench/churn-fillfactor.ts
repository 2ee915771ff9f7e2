import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { OURS_WITHOUT_HISTORY } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { BATCH, ChurnLanes, LANES } from './churn-lanes.js';
import { figure, spread, type Table } from './report/table.js';
import { type BenchServer, connect } from './server/bench-server.js';

interface Variant {
  title: string;
  fillfactor: number;
  /** A transaction elsewhere holds a snapshot: nothing that dies can be pruned. */
  snapshotHeld: boolean;
}

interface Churn {
  perSecond: number;
  walBytesPerDelay: number;
  hotRatio: number;
  tableBytes: number;
  indexBytes: number;
  serverCpuSeconds: number;
  missed: number;
}

/** Vacuums during the measured part, evenly spread; autovacuum's own moments would be chance. */
const VACUUMS = 10;

const MEBIBYTE = 2 ** 20;

/**
 * Which fillfactor the delay table should have: rows are scheduled, wait, are claimed (an update of
 * columns without an index, so a HOT one if its page has room) and removed, without an end.
 */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = [false, true].flatMap((snapshotHeld) =>
    settings.fillfactors.map((fillfactor) => ({
      title: `churn · fillfactor ${fillfactor}${snapshotHeld ? ' · snapshot held' : ''}`,
      fillfactor,
      snapshotHeld,
    })),
  );
  const results = await interleaved(
    bench,
    variants,
    (variant) => measure(bench, variant),
    (churn) =>
      `${figure(churn.perSecond)}/s, ${figure(churn.walBytesPerDelay)} B of WAL per delay, ` +
      `HOT ${figure(churn.hotRatio * 100, 1)} %`,
  );
  return [
    {
      title: `Churn of ${figure(settings.churnCount)} delays, ${figure(settings.churnWaiting)} waiting`,
      notes: [
        `the engine's own statements for schedule, claim and complete, ${BATCH} delays each, ` +
          `${LANES} connections; keys, no history`,
        `${VACUUMS} vacuums at autovacuum's pace; WAL with the full pages after one checkpoint`,
      ],
      columns: [
        'fillfactor',
        'snapshot held',
        'delays/s',
        'WAL B/delay',
        'HOT %',
        'table MiB',
        'indexes MiB',
        'server µs/delay',
        'missed',
      ],
      rows: results.map(({ variant, measurements }) => row(variant, measurements, settings)),
    },
  ];
}

function row(
  variant: Variant,
  measurements: readonly Churn[],
  { churnCount }: Bench['settings'],
): string[] {
  const each = (value: (churn: Churn) => number, digits = 0): string =>
    spread(measurements.map(value), digits);
  return [
    String(variant.fillfactor),
    variant.snapshotHeld ? 'yes' : 'no',
    each((churn) => churn.perSecond),
    each((churn) => churn.walBytesPerDelay),
    each((churn) => churn.hotRatio * 100, 1),
    each((churn) => churn.tableBytes / MEBIBYTE, 1),
    each((churn) => churn.indexBytes / MEBIBYTE, 1),
    each((churn) => (churn.serverCpuSeconds * 1e6) / churnCount, 1),
    figure(measurements.reduce((total, churn) => total + churn.missed, 0)),
  ];
}

async function measure(bench: Bench, { fillfactor, snapshotHeld }: Variant): Promise<Churn> {
  const { churnCount, churnWaiting } = bench.settings;
  const server = await bench.server();
  const { url, drop } = await server.database('churn', (built) =>
    OURS_WITHOUT_HISTORY.prepare(built),
  );
  const observer = await connect(url);
  await observer.query(
    `ALTER TABLE delay_queue.delay SET (fillfactor = ${fillfactor}, autovacuum_enabled = off)`,
  );

  const lanes = new ChurnLanes();
  await lanes.open(url);
  await lanes.schedule(churnWaiting);
  // Every row in the table has then taken a place that another one left.
  await lanes.turnOver(churnWaiting);
  await lanes.close();
  await observer.query('VACUUM (ANALYZE) delay_queue.delay');
  await observer.query('CHECKPOINT');

  const holder = snapshotHeld ? await holdSnapshot(url) : undefined;
  const before = await look(observer, server);
  await lanes.open(url);
  const startedAtMs = performance.now();
  const { missed } = await lanes.turnOver(churnCount, vacuumOnTheWay(observer, churnCount));
  const seconds = (performance.now() - startedAtMs) / 1_000;
  await lanes.close();
  const after = await look(observer, server);
  await holder?.end();
  await observer.end();
  await drop();
  return {
    perSecond: churnCount / seconds,
    walBytesPerDelay: (after.walBytes - before.walBytes) / churnCount,
    hotRatio: (after.hotUpdates - before.hotUpdates) / (after.updates - before.updates),
    tableBytes: after.tableBytes,
    indexBytes: after.indexBytes,
    serverCpuSeconds: after.cpuSeconds - before.cpuSeconds,
    missed,
  };
}

/** Told how many delays are through; vacuums now and then, beside the load, never twice at once. */
function vacuumOnTheWay(observer: Client, count: number): (through: number) => void {
  let [vacuums, vacuuming] = [0, false];
  return (through) => {
    if (vacuuming || through < ((vacuums + 1) * count) / (VACUUMS + 1)) return;
    [vacuums, vacuuming] = [vacuums + 1, true];
    void observer
      .query("SET vacuum_cost_delay = '2ms'")
      .then(() => observer.query('VACUUM delay_queue.delay'))
      .finally(() => {
        vacuuming = false;
      });
  };
}

async function holdSnapshot(url: string): Promise<Client> {
  const client = await connect(url);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM delay_queue.delay');
  return client;
}

async function look(observer: Client, server: BenchServer) {
  await whenFlushed(observer);
  const { rows } = await observer.query<{
    walBytes: number;
    updates: number;
    hotUpdates: number;
    tableBytes: number;
    indexBytes: number;
  }>(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS "walBytes",
             n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS "hotUpdates",
             pg_relation_size(relid)::float8 AS "tableBytes",
             pg_indexes_size(relid)::float8 AS "indexBytes"
      FROM pg_stat_user_tables WHERE schemaname = 'delay_queue' AND relname = 'delay'`);
  const [found] = rows;
  if (found === undefined) throw new Error('the delay table has no statistics');
  return { ...found, cpuSeconds: await server.cpu.seconds() };
}

/** A backend hands in its statistics when it ends, which is a little later than its connection. */
async function whenFlushed(observer: Client): Promise<void> {
  for (;;) {
    const { rows } = await observer.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'bench lane'`,
    );
    if (rows[0]?.count === 0) return;
    await pause(10);
  }
}
