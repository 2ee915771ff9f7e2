import { DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import type { Adapter } from './adapters/adapter.js';
import { compile, OURS, OURS_WITHOUT_HISTORY } from './adapters/ours.js';
import { openSite, statementSource } from './measure/site.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import { withClient } from './server/bench-server.js';

/** Delays that wait beside those of the measurement. */
const BESIDE = 100_000;
/** Calls of one measurement, and of each of its transactions. */
const COUNT = 10_000;
const PER_TRANSACTION = 50;
/** Transactions before: a session plans what it runs a few times, and then keeps the plans. */
const WARM_UP = 20;

const NAME = 'bench.run';
const IN_A_DAY_MS = 86_400_000;

interface Cost {
  serverMicros: number;
  statements: number;
}

const COLUMNS: readonly Column<Cost>[] = [
  { title: 'server µs each', of: ({ serverMicros }) => serverMicros },
  { title: 'statements each', of: ({ statements }) => statements, digits: 2 },
];

type One = (manager: EntityManager, n: number) => Promise<unknown>;

interface CallOf extends Variant {
  history: boolean;
  call: (delays: DelayService) => One;
}

const schedule = (delays: DelayService): One => {
  return (manager, n) =>
    delays.schedule(NAME, { n }, { key: `new-${n}`, after: IN_A_DAY_MS, manager });
};
const cancel = (delays: DelayService): One => {
  return (manager, n) => delays.cancel(NAME, `k-${n}`, { manager });
};
const bare = (text: string, values: (n: number) => unknown[]) => (): One => {
  return (manager, n) => manager.query(text, values(n));
};

const INSERT = `
INSERT INTO bare.delay (name, key, payload, due_at, wake_at, created_at)
SELECT $1, $2, $3, at, at, clock_timestamp()
FROM date_trunc('milliseconds', clock_timestamp() + $4::float8 * interval '1 millisecond') AS at`;
const DELETE = 'DELETE FROM bare.delay WHERE name = $1 AND key = $2 RETURNING id';
const DELETE_INTO_HISTORY = `
WITH gone AS (DELETE FROM bare.delay WHERE name = $1 AND key = $2 RETURNING *)
INSERT INTO bare.history (id, epoch, name, key, due_at, created_at, ended_at, state, attempts)
SELECT id, epoch, name, key, due_at, created_at, clock_timestamp(), 'cancelled', attempts FROM gone
RETURNING id`;

const VARIANTS: readonly CallOf[] = [
  {
    title: 'a bare INSERT',
    history: false,
    call: bare(INSERT, (n) => [NAME, `new-${n}`, JSON.stringify({ n }), IN_A_DAY_MS]),
  },
  { title: 'schedule', history: false, call: schedule },
  { title: 'a bare DELETE', history: false, call: bare(DELETE, (n) => [NAME, `k-${n}`]) },
  { title: 'cancel, history off', history: false, call: cancel },
  {
    title: 'a bare DELETE, and INSERT of a line',
    history: true,
    call: bare(DELETE_INTO_HISTORY, (n) => [NAME, `k-${n}`]),
  },
  { title: 'cancel, history on', history: true, call: cancel },
];

/** What a call in the caller's transaction costs the server, beside the bare statement. */
export async function run(bench: Bench): Promise<Table[]> {
  const table = await compare(bench, {
    name: 'in-transaction',
    title: "One delay in the caller's transaction",
    notes: [
      `${figure(COUNT)} calls, ${PER_TRANSACTION} in a transaction, one after the other, beside ${figure(BESIDE)} delays`,
      'bare: one statement through the same manager, on a table with the same columns and indexes',
      'with what BEGIN and COMMIT cost, a fiftieth for each call',
      await statementSource(bench),
    ],
    variants: VARIANTS,
    measure: (variant) => measure(bench, variant),
    labels: { what: ({ title }) => title },
    columns: COLUMNS,
  });
  return [table];
}

async function measure(bench: Bench, { history, call }: CallOf): Promise<Cost> {
  const adapter = history ? OURS : OURS_WITHOUT_HISTORY;
  // Counting costs each statement a little: those that are counted are not those that are measured.
  const { serverMicros } = await costOf(bench, adapter, { history, call }, false);
  const { statements } = await costOf(bench, adapter, { history, call }, true);
  return { serverMicros, statements };
}

async function costOf(
  bench: Bench,
  adapter: Adapter,
  { history, call }: Pick<CallOf, 'history' | 'call'>,
  countStatements: boolean,
): Promise<Cost> {
  const site = await openSite(bench, adapter, `in-transaction ${history}`, build, {
    countStatements,
  });
  const app = await compile(site.url, { ...(history ? {} : { history }), worker: false }, []);
  await app.init();
  const one = call(app.get(DelayService));
  const dataSource = app.get(DataSource);
  let n = 0;
  const transact = async (transactions: number): Promise<void> => {
    for (let done = 0; done < transactions; done += 1) {
      await dataSource.transaction(async (manager) => {
        for (let calls = 0; calls < PER_TRANSACTION; calls += 1) await one(manager, n++);
      });
    }
  };
  await transact(WARM_UP);
  await site.begin();
  await transact(COUNT / PER_TRANSACTION);
  const { cpuSeconds, statements } = await site.done();
  await app.close();
  await site.drop();
  return { serverMicros: (cpuSeconds * 1e6) / COUNT, statements: statements / COUNT };
}

/** The same rows twice: for the queue, and in a schema for bare statements. */
async function build(url: string): Promise<void> {
  await OURS.prepare(url);
  await withClient(url, async (client) => {
    await client.query(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT $1, 'k-' || n, jsonb_build_object('n', n), at, at, now()
     FROM generate_series(0, $2::int - 1) AS n,
          LATERAL (SELECT now() + interval '2 days' + n * interval '1 second') AS due(at)`,
      [NAME, BESIDE],
    );
    await client.query(
      `CREATE SCHEMA bare;
     CREATE TABLE bare.delay (LIKE delay_queue.delay INCLUDING ALL);
     CREATE TABLE bare.history (LIKE delay_queue.history INCLUDING ALL);
     INSERT INTO bare.delay OVERRIDING SYSTEM VALUE SELECT * FROM delay_queue.delay;
     SELECT setval(pg_get_serial_sequence('bare.delay', 'id'), max(id)) FROM bare.delay`,
    );
    await client.query('VACUUM ANALYZE');
  });
}
