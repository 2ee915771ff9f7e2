import { DelayAdmin, DelayService } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { compile, OURS, prepare } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { openSite } from './site.js';

/** Delays of one call, in one transaction. */
const MANY = 1_000;

/** A page in the middle, and a group that has few of all. */
const GROUP_SIZE = 1_000;

interface Admin {
  cancelManyMs: number;
  firstPageMs: number;
  groupPageMs: number;
  countGroupMs: number;
  countNameMs: number;
  statsMs: number;
}

const COLUMNS: readonly Column<Admin>[] = [
  { title: `cancelMany of ${figure(MANY)} ms`, of: (admin) => admin.cancelManyMs, digits: 1 },
  { title: 'list of a name ms', of: (admin) => admin.firstPageMs, digits: 1 },
  { title: 'list of a group ms', of: (admin) => admin.groupPageMs, digits: 1 },
  { title: 'count of a group ms', of: (admin) => admin.countGroupMs, digits: 1 },
  { title: 'count of a name ms', of: (admin) => admin.countNameMs },
  { title: 'stats ms', of: (admin) => admin.statsMs },
];

const FILL = `
  INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, group_id)
  SELECT 'bench.run', i::text, '{"n":1}', due, due, clock_timestamp(), 'group ' || i / ${GROUP_SIZE}
  FROM generate_series(1, $1::int) AS i,
       LATERAL (SELECT date_trunc('milliseconds', now() + interval '1 day' + i * interval '1 ms')) AS d(due)`;

/** What those ask for who look after delays, beside few and beside many. */
export async function run(bench: Bench): Promise<Table[]> {
  const variants = bench.settings.idlePending.map((pending) => ({
    title: `${figure(pending)} delays`,
    pending,
  }));
  const results = await interleaved(
    bench,
    variants,
    ({ pending }) => measure(bench, pending),
    (admin) => `cancelMany ${figure(admin.cancelManyMs, 1)} ms, stats ${figure(admin.statsMs)} ms`,
  );
  return [
    {
      name: 'admin',
      title: 'Lists, counts, and many at once',
      notes: [
        `each delay has a key and a group; groups of ${figure(GROUP_SIZE)}; pages of 100`,
        'cancelMany by name and key, in a transaction of the caller',
      ],
      columns: ['live delays', ...COLUMNS.map(({ title }) => title)],
      rows: results.map(({ variant, measurements }) => [
        figure(variant.pending),
        ...cellsOf(COLUMNS, measurements),
      ]),
    },
  ];
}

async function measure(bench: Bench, pending: number): Promise<Admin> {
  const site = await openSite(bench, OURS, `admin ${pending}`, async (url) => {
    await prepare(url);
    const client = await connect(url);
    await client.query(FILL, [pending]);
    await client.query('VACUUM ANALYZE delay_queue.delay');
    await client.end();
  });
  const app = await compile(site.url, { worker: false }, []);
  await app.init();
  const admin = app.get(DelayAdmin);
  const delays = app.get(DelayService);
  const name = 'bench.run';
  const group = `group ${Math.floor(pending / GROUP_SIZE / 2)}`;
  // What a connection costs the first time is not meant.
  await admin.list({ name }, { limit: 1 });
  const targets = Array.from({ length: MANY }, (_, n) => ({ name, key: String(n + 1) }) as const);
  const measured = {
    firstPageMs: await took(() => admin.list({ name })),
    groupPageMs: await took(() => admin.list({ group })),
    countGroupMs: await took(() => admin.count({ group })),
    countNameMs: await took(() => admin.count({ name })),
    statsMs: await took(() => admin.stats()),
    cancelManyMs: await took(() =>
      app.get(DataSource).transaction((manager) => delays.cancelMany(targets, { manager })),
    ),
  };
  await app.close();
  await site.drop();
  return measured;
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const beganAtMs = performance.now();
  await work();
  return performance.now() - beganAtMs;
}
