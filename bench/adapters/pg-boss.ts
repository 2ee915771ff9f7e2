import { Pool } from 'pg';
import { openShop, ORDERS } from './orders.js';
import { load } from '../peers/load.js';
import { inTransaction, numberAt } from '../server/bench-server.js';
import {
  type Adapter,
  type Batch,
  type BenchProducer,
  type BenchWorker,
  HANDLERS,
  type Hears,
  type Running,
} from './adapter.js';
import { named, onNewerNode, pagesOf, peersNodeVersion } from './peer.js';
import type {
  BossDatabase,
  BossInsert,
  BossOptions,
  PgBoss,
  PgBossPackage,
  WorkOptions,
} from './pg-boss.surface.js';

const PACKAGE = 'pg-boss';
const QUEUE = 'bench.run';

/** Its own default. */
const WORKER_POOL_MAX = 10;
const PRODUCER_POOL_MAX = 20;
const FILL_PAGE = 5_000;

const FETCH = /FOR UPDATE OF j SKIP LOCKED/;
const COMPLETE = /SET completed_on = [\s\S]*state = 'completed'/;

const FAST: WorkOptions = {
  batchSize: 2_000,
  localConcurrency: 2,
  pollingIntervalSeconds: 0.5,
  burstWhenBatchFull: true,
};

export const PG_BOSS: readonly Adapter[] = [
  {
    ...pgBoss('default', 'one job per fetch, a fetch every 2 s', {}),
    onlyByName: 'it runs one job every 2 s, and few scenarios wait for that',
  },
  {
    ...pgBoss('transactional', 'transactional, as fast with batchSize 200', {
      ...FAST,
      batchSize: 200,
      transactional: true,
    }),
    onlyByName: 'it is given batches that share one transaction',
    handlers: ['close'],
  },
  pgBoss('fast', 'batchSize 2000, localConcurrency 2, poll 0.5 s, burstWhenBatchFull', FAST),
];

function pgBoss(variant: string, shownOptions: string, options: WorkOptions): Adapter {
  const name = `${PACKAGE} ${variant}`;
  return {
    name,
    get settings() {
      return (
        `${name}: ${named(PACKAGE)} on ${peersNodeVersion()}; ${shownOptions}; ` +
        'done with are rows marked completed, which it deletes after 7 days'
      );
    },
    ...onNewerNode(PACKAGE),
    prepare: (url) => withBoss(url, (boss) => boss.createQueue(QUEUE)),
    fill: (url, batch) => withBoss(url, (boss) => fill(boss, batch)),
    handlers: HANDLERS,
    openWorker: (url, running, hears) => openWorker(url, options, running, hears),
    openProducer,
    left,
  };
}

/** Tells what the database says is fetched and completed now. */
function databaseOn(pool: Pool, hears: Heard): BossDatabase {
  return {
    async executeSql(text, values) {
      const result = await pool.query(text, values);
      if (FETCH.test(text)) hears.claimed();
      hears.settled(completedIn(text, result.rows));
      return result;
    },
    /** What it completes in a transaction is done with once that is committed. */
    async beginTransaction() {
      const client = await pool.connect();
      let completed = 0;
      await client.query('BEGIN');
      return {
        db: {
          async executeSql(text, values) {
            const result = await client.query(text, values);
            if (FETCH.test(text)) hears.claimed();
            completed += completedIn(text, result.rows);
            return result;
          },
        },
        async commit() {
          await client.query('COMMIT');
          client.release();
          hears.settled(completed);
        },
        rollback: () => Promise.resolve(client.release(true)),
      };
    },
  };
}

interface Heard {
  claimed: () => void;
  settled: (count: number) => void;
}

const completedIn = (text: string, rows: { ids?: string[] | null }[]): number =>
  COMPLETE.test(text) ? (rows[0]?.ids?.length ?? 0) : 0;

async function openBoss(
  pool: Pool,
  hears: Heard,
  options: Omit<BossOptions, 'db'>,
): Promise<PgBoss> {
  const { PgBoss } = await load<PgBossPackage>(PACKAGE);
  pool.on('error', () => {});
  const boss = new PgBoss({ db: databaseOn(pool, hears), ...options });
  boss.on('error', (error) => void process.stderr.write(`${PACKAGE}: ${error.message}\n`));
  await boss.start();
  return boss;
}

/** One that only sends. */
const openSender = (pool: Pool): Promise<PgBoss> =>
  openBoss(pool, { claimed() {}, settled() {} }, { supervise: false, schedule: false });

async function withBoss(url: string, use: (boss: PgBoss) => Promise<void>): Promise<void> {
  const pool = new Pool({ connectionString: url, max: WORKER_POOL_MAX });
  const boss = await openSender(pool);
  try {
    await use(boss);
  } finally {
    await boss.stop({ graceful: true });
    await pool.end();
  }
}

async function fill(boss: PgBoss, batch: Batch): Promise<void> {
  for (const page of pagesOf(batch, FILL_PAGE)) {
    const nowMs = Date.now();
    await boss.insert(
      QUEUE,
      page.map(({ n, dueInMs }) => jobOf(n, nowMs + dueInMs)),
    );
  }
}

const jobOf = (n: number, dueMs: number): BossInsert => ({
  id: idOf(n),
  data: { n, dueMs },
  startAfter: new Date(dueMs),
});

/** The business key of a job: it cancels by id alone, and takes one that the caller made. */
function idOf(n: number): string {
  const digits = Math.abs(n).toString(16).padStart(12, '0');
  return `00000000-0000-4000-${n < 0 ? '9' : '8'}000-${digits}`;
}

async function openWorker(
  url: string,
  options: WorkOptions,
  { handler, batch }: Running,
  hears: Hears,
): Promise<BenchWorker> {
  const pool = new Pool({ connectionString: url, max: WORKER_POOL_MAX });
  const settled = (count: number): void => {
    for (let each = 0; each < count; each += 1) hears.settled();
  };
  const boss = await openBoss(pool, { claimed: () => hears.claimed(), settled }, {});
  const shop = handler === 'close' ? await openShop(url) : undefined;
  return {
    async start() {
      const batches = batch === undefined ? {} : { batchSize: batch };
      await boss.work(QUEUE, { ...options, ...batches }, async (jobs, transaction) => {
        for (const { data } of jobs) {
          hears.handled(data.n, data.dueMs);
        }
        if (options.transactional) {
          await transaction.executeSql(ORDERS.closeMany, [jobs.map(({ data }) => data.n)]);
        } else if (shop) await Promise.all(jobs.map(({ data }) => shop.close(data.n)));
      });
    },
    async stop() {
      await boss.stop({ graceful: true });
      await pool.end();
      await shop?.end();
    },
  };
}

async function openProducer(url: string): Promise<BenchProducer> {
  const pool = new Pool({ connectionString: url, max: PRODUCER_POOL_MAX });
  const boss = await openSender(pool);
  return {
    async schedule(n, dueInMs) {
      const { id, data, startAfter } = jobOf(n, Date.now() + dueInMs);
      await boss.send(QUEUE, data, { id, startAfter });
    },
    async scheduleMany(first, count, dueInMs) {
      const dueMs = Date.now() + dueInMs;
      const jobs = Array.from({ length: count }, (_, index) => jobOf(first + index, dueMs));
      await boss.insert(QUEUE, jobs);
    },
    cancel: async (n) => isFound(await boss.cancel(QUEUE, idOf(n))),
    cancelInTransaction: (n) =>
      inTransaction(pool, async (client) => {
        const db: BossDatabase = { executeSql: (text, values) => client.query(text, values) };
        return isFound(await boss.cancel(QUEUE, idOf(n), { db }));
      }),
    async stop() {
      await boss.stop({ graceful: true });
      await pool.end();
    },
  };
}

const isFound = (answer: object): boolean => 'affected' in answer && answer.affected === 1;

function left(url: string): Promise<number> {
  return numberAt(
    url,
    "SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1 AND state < 'completed'",
    [QUEUE],
  );
}
