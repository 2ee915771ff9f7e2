import type { QueryResult } from 'pg';
import { PreparedStatements } from '../src/delay-queue/database/prepared-statements.js';
import { AttemptStore } from '../src/delay-queue/store/attempt.store.js';
import type { Runner } from '../src/delay-queue/database/runner.js';
import { OURS } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { openSite } from './site.js';

/** Attempts of one measurement, and how many before it: plans are kept from the sixth on. */
const COUNT = 4_000;
const WARM_UP = 200;

const LEASE_MS = 60_000;
const [START, COMMIT] = ['START TRANSACTION', 'COMMIT'];

interface Cost {
  serverMicros: number;
  processMicros: number;
  wallMicros: number;
}

const COLUMNS: readonly Column<Cost>[] = [
  { title: 'server µs', of: ({ serverMicros }) => serverMicros },
  { title: 'process µs', of: ({ processMicros }) => processMicros },
  { title: 'from begin to end µs', of: ({ wallMicros }) => wallMicros },
];

type Session = Awaited<ReturnType<typeof connect>>;
type Attempt = (id: number) => Promise<void>;

interface Variant {
  title: string;
  on: (session: Session) => Attempt;
}

const work = (session: Session, id: number): Promise<QueryResult> =>
  session.query('UPDATE orders SET n = n + 1 WHERE id = $1', [id]);

const noRunner: Runner = { query: () => Promise.reject(new Error('each call names its session')) };

/** Fence and removal, as a node sends them. */
function engine() {
  const prepared = new PreparedStatements();
  prepared.use();
  const store = new AttemptStore(noRunner, 'delay_queue', 'ends', 'bench');
  return { prepared, store };
}

const VARIANTS: readonly Variant[] = [
  {
    title: 'no queue',
    on: (session) => async (id) => {
      await session.query(START);
      await work(session, id);
      await session.query(COMMIT);
    },
  },
  {
    title: 'each statement alone',
    on: (session) => {
      const { prepared, store } = engine();
      const runner: Runner = { query: (...how) => prepared.run(session, ...how) };
      return async (id) => {
        await session.query(START);
        await store.fence(runner, [{ id, epoch: 1 }], LEASE_MS);
        await work(session, id);
        await store.complete([{ id, epoch: 1, latenessMs: 1.5 }], runner);
        await session.query(COMMIT);
      };
    },
  },
  {
    title: 'two round trips',
    on: (session) => {
      const { prepared, store } = engine();
      const first: Runner = {
        query: async (...how) => (await prepared.runBehind<never>(session, START, ...how)).rows,
      };
      const last: Runner = {
        query: async (...how) => {
          const { rows } = await prepared.runBefore<never>(session, COMMIT, ...how, () => {});
          return rows;
        },
      };
      return async (id) => {
        await store.fence(first, [{ id, epoch: 1 }], LEASE_MS);
        await work(session, id);
        await store.complete([{ id, epoch: 1, latenessMs: 1.5 }], last);
      };
    },
  },
];

/** What a transactional attempt adds to the transaction that its handler would have without it. */
export async function run(bench: Bench): Promise<Table[]> {
  const results = await interleaved(
    bench,
    VARIANTS.map((variant) => ({
      ...variant,
      title: `attempt · ${variant.title}`,
      short: variant.title,
    })),
    ({ on }) => measure(bench, on),
    ({ serverMicros, wallMicros }) =>
      `server ${figure(serverMicros)} µs, ${figure(wallMicros)} µs from begin to end`,
  );
  return [
    {
      name: 'attempt',
      title: 'A transactional attempt of one delay, on one session',
      notes: [
        `${figure(COUNT)} one after the other: the handler updates one row of the application, by its primary key`,
        'fence and removal as the engine sends them, with a line of history; the claim is not part of it',
        '"no queue": the same transaction without fence and removal',
      ],
      columns: ['what', ...COLUMNS.map(({ title }) => title)],
      rows: results.map(({ variant, measurements }) => [
        variant.short,
        ...cellsOf(COLUMNS, measurements),
      ]),
    },
  ];
}

async function measure(bench: Bench, on: Variant['on']): Promise<Cost> {
  const site = await openSite(bench, OURS, 'attempt', build);
  const session = await connect(site.url);
  const { rows } = await session.query<{ id: string }>(
    'SELECT id FROM delay_queue.delay ORDER BY id',
  );
  const ids = rows.map(({ id }) => Number(id));
  const attempt = on(session);
  for (const id of ids.slice(0, WARM_UP)) await attempt(id);
  await site.begin();
  const [cpu, startedMs] = [process.cpuUsage(), performance.now()];
  for (const id of ids.slice(WARM_UP)) await attempt(id);
  const [wallMs, { user, system }] = [performance.now() - startedMs, process.cpuUsage(cpu)];
  const { cpuSeconds } = await site.done();
  await session.end();
  await site.drop();
  return {
    serverMicros: (cpuSeconds * 1e6) / COUNT,
    processMicros: (user + system) / COUNT,
    wallMicros: (wallMs * 1e3) / COUNT,
  };
}

/** Delays that are claimed already, and what their handler changes. */
async function build(url: string): Promise<void> {
  await OURS.prepare(url);
  const client = await connect(url);
  await client.query(
    `INSERT INTO delay_queue.delay
       (name, key, payload, due_at, wake_at, created_at, epoch, attempts, leased_by, leased_until)
     SELECT 'bench.run', 'k' || i, '{}', now(), now() + interval '1 h', now(), 1, 1, 'bench', now() + interval '1 h'
     FROM generate_series(1, ${COUNT + WARM_UP}) i;
     CREATE TABLE orders (id bigint PRIMARY KEY, n int);
     INSERT INTO orders SELECT id, 0 FROM delay_queue.delay`,
  );
  await client.query('VACUUM ANALYZE');
  await client.end();
}
