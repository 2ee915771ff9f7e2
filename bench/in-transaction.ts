import { DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { compile, OURS, OURS_WITHOUT_HISTORY } from './adapters/ours.js';
import { openSite } from './measure/site.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import { withClient } from './server/bench-server.js';

/** Delays that wait beside those of the measurement. */
const BESIDE = 100_000;
/** Transactions of one measurement, with a call and without. */
const COUNT = 10_000;
/** They alternate, so that whatever else the machine does, it does to both. */
const BLOCKS = 4;
const IN_FLIGHT = 10;
/** Transactions before: a session plans what it runs a few times, and then keeps the plans. */
const WARM_UP = 1_000;

const NAME = 'bench.run';
const IN_A_DAY_MS = 86_400_000;

interface Cost {
  serverMicros: number;
}

const COLUMNS: readonly Column<Cost>[] = [
  { title: 'server µs each', of: ({ serverMicros }) => serverMicros },
];

type One = (manager: EntityManager, n: number) => Promise<unknown>;

interface CallOf extends Variant {
  history: boolean;
  call: (delays: DelayService) => One;
  /** The title of the bare statement that it is compared with. */
  beside: string;
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

const ORDER = `INSERT INTO bare.orders (status, total) VALUES ($1, $2) RETURNING id`;
const INSERT = `
INSERT INTO bare.delay (name, key, payload, due_at, wake_at, created_at)
VALUES ($1, $2, $3, $4, $4, $5) RETURNING id`;
const DELETE = 'DELETE FROM bare.delay WHERE name = $1 AND key = $2';
const DELETE_INTO_HISTORY = `
WITH gone AS (DELETE FROM bare.delay WHERE name = $1 AND key = $2 RETURNING *)
INSERT INTO bare.history (id, epoch, name, key, due_at, created_at, ended_at, state, attempts)
SELECT id, epoch, name, key, due_at, created_at, clock_timestamp(), 'cancelled', attempts FROM gone`;

const newRow = (n: number): unknown[] => {
  const nowMs = Date.now();
  return [NAME, `new-${n}`, JSON.stringify({ n }), new Date(nowMs + IN_A_DAY_MS), new Date(nowMs)];
};
const oldKey = (n: number): unknown[] => [NAME, `k-${n}`];

const [INSERTED, DELETED, LINE] = [
  'a bare row inserted',
  'a bare row deleted',
  'a bare row deleted, and a line inserted',
];

const VARIANTS: readonly CallOf[] = [
  { title: INSERTED, beside: INSERTED, history: false, call: bare(INSERT, newRow) },
  { title: 'schedule', beside: INSERTED, history: false, call: schedule },
  { title: DELETED, beside: DELETED, history: false, call: bare(DELETE, oldKey) },
  { title: 'cancel, history off', beside: DELETED, history: false, call: cancel },
  { title: LINE, beside: LINE, history: true, call: bare(DELETE_INTO_HISTORY, oldKey) },
  { title: 'cancel, history on', beside: LINE, history: true, call: cancel },
];

/** What a call adds to the transaction that inserts an order, beside what a bare row adds. */
export async function run(bench: Bench): Promise<Table[]> {
  const table = await compare(bench, {
    name: 'in-transaction',
    title: "One delay in the caller's transaction",
    notes: [
      `${figure(COUNT)} transactions, each of an order and one call, ${IN_FLIGHT} in flight, beside ${figure(BESIDE)} delays`,
      'what the call adds to the same transaction without it; the two alternate',
      'bare: one statement through the same manager, on a table with the same columns and indexes',
    ],
    variants: VARIANTS,
    measure: (variant) => measure(bench, variant),
    labels: { what: ({ title }) => title },
    columns: COLUMNS,
    ratios: [
      {
        title: 'to the bare row',
        of: ({ serverMicros }) => serverMicros,
        isTo: ({ beside }, { title }) => beside === title,
      },
    ],
  });
  return [table];
}

async function measure(bench: Bench, { history, call }: CallOf): Promise<Cost> {
  const adapter = history ? OURS : OURS_WITHOUT_HISTORY;
  const site = await openSite(bench, adapter, `in-transaction ${history}`, build);
  const app = await compile(site.url, { ...(history ? {} : { history }), worker: false }, []);
  await app.init();
  const one = call(app.get(DelayService));
  const dataSource = app.get(DataSource);
  let n = 0;
  const transact = async (transactions: number, calls: boolean): Promise<void> => {
    let left = transactions;
    const inTurn = async (): Promise<void> => {
      while (left-- > 0) {
        await dataSource.transaction(async (manager) => {
          await manager.query(ORDER, ['UNPAID', 100]);
          if (calls) await one(manager, n++);
        });
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, inTurn));
  };
  await transact(WARM_UP, true);
  let serverMicros = 0;
  for (let block = 0; block < BLOCKS; block += 1) {
    for (const calls of [false, true]) {
      await site.begin();
      await transact(COUNT / BLOCKS, calls);
      const { cpuSeconds } = await site.done();
      serverMicros += ((calls ? 1 : -1) * cpuSeconds * 1e6) / COUNT;
    }
  }
  await app.close();
  await site.drop();
  return { serverMicros };
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
     CREATE TABLE bare.orders (
       id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text NOT NULL, total int NOT NULL
     );
     INSERT INTO bare.delay OVERRIDING SYSTEM VALUE SELECT * FROM delay_queue.delay;
     SELECT setval(pg_get_serial_sequence('bare.delay', 'id'), max(id)) FROM bare.delay`,
    );
    await client.query('VACUUM ANALYZE');
  });
}
