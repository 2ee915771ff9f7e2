import { Pool } from 'pg';
import { openShop, ORDERS } from './orders.js';
import { load } from '../peers/load.js';
import { connect } from '../server/bench-server.js';
import {
  type Batch,
  type BenchProducer,
  type BenchWorker,
  HANDLERS,
  type Hears,
  ITEMS,
  type Running,
} from './adapter.js';
import {
  missingNode,
  missingPackages,
  named,
  type PeerAdapter,
  PEERS_NODE,
  peersNodeVersion,
} from './peer.js';
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

const COMPLETE = /SET completed_on = [\s\S]*state = 'completed'/;

const FAST: WorkOptions = {
  batchSize: 2_000,
  localConcurrency: 2,
  pollingIntervalSeconds: 0.5,
  burstWhenBatchFull: true,
};

export const PG_BOSS: readonly PeerAdapter[] = [
  {
    ...pgBoss('default', 'one job per fetch, a fetch every 2 s', {}),
    onlyByName: 'it runs one job every 2 s, and few scenarios wait for that',
  },
  {
    ...pgBoss('transactional', 'transactional, batchSize 200, poll 0.5 s, burstWhenBatchFull', {
      batchSize: 200,
      localConcurrency: 2,
      pollingIntervalSeconds: 0.5,
      burstWhenBatchFull: true,
      transactional: true,
    }),
    onlyByName: 'it is given batches that share one transaction',
    handlers: ['close'],
  },
  pgBoss('fast', 'batchSize 2000, localConcurrency 2, poll 0.5 s, burstWhenBatchFull', FAST),
];

function pgBoss(variant: string, shownOptions: string, options: WorkOptions): PeerAdapter {
  const name = `${PACKAGE} ${variant}`;
  return {
    name,
    get settings() {
      return (
        `${name}: ${named(PACKAGE)} on ${peersNodeVersion()}; ${shownOptions}; ` +
        'done with are rows marked completed, which it deletes after 7 days'
      );
    },
    missing: () => [...missingPackages(PACKAGE), ...missingNode()],
    execPath: PEERS_NODE,
    prepare: (url) => withBoss(url, (boss) => boss.createQueue(QUEUE)),
    fill: (url, batch) => withBoss(url, (boss) => fill(boss, batch)),
    handlers: HANDLERS,
    openWorker: (url, running, hears) => openWorker(url, options, running, hears),
    openProducer,
    left,
  };
}

/** @param settled called with how many jobs the database says are completed now */
function databaseOn(pool: Pool, settled: (count: number) => void): BossDatabase {
  return {
    async executeSql(text, values) {
      const result = await pool.query(text, values);
      if (COMPLETE.test(text))
        settled((result.rows[0] as { ids: string[] | null }).ids?.length ?? 0);
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
            if (COMPLETE.test(text))
              completed += (result.rows[0] as { ids: string[] | null }).ids?.length ?? 0;
            return result;
          },
        },
        async commit() {
          await client.query('COMMIT');
          client.release();
          settled(completed);
        },
        rollback: () => Promise.resolve(client.release(true)),
      };
    },
  };
}

async function openBoss(
  pool: Pool,
  settled: (count: number) => void,
  options: Omit<BossOptions, 'db'>,
): Promise<PgBoss> {
  const { PgBoss } = await load<PgBossPackage>(PACKAGE);
  pool.on('error', () => {});
  const boss = new PgBoss({ db: databaseOn(pool, settled), ...options });
  boss.on('error', (error) => void process.stderr.write(`${PACKAGE}: ${error.message}\n`));
  await boss.start();
  return boss;
}

/** One that only sends. */
const openSender = (pool: Pool): Promise<PgBoss> =>
  openBoss(pool, () => {}, { supervise: false, schedule: false });

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

async function fill(boss: PgBoss, { first, count, dueFromMs, dueToMs }: Batch): Promise<void> {
  for (let done = 0; done < count; done += FILL_PAGE) {
    const nowMs = Date.now();
    const jobs = Array.from({ length: Math.min(FILL_PAGE, count - done) }, (_, index) => {
      const dueInMs = dueFromMs + ((dueToMs - dueFromMs) * (done + index)) / count;
      return jobOf(first + done + index, Math.round(nowMs + dueInMs));
    });
    await boss.insert(QUEUE, jobs);
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
  { handler }: Running,
  hears: Hears,
): Promise<BenchWorker> {
  const pool = new Pool({ connectionString: url, max: WORKER_POOL_MAX });
  const settled = (count: number): void => {
    for (let each = 0; each < count; each += 1) hears.settled();
  };
  const boss = await openBoss(pool, settled, {});
  const shop = handler === 'close' ? await openShop(url) : undefined;
  return {
    async start() {
      await boss.work(QUEUE, options, async (jobs, transaction) => {
        for (const { data } of jobs) {
          hears.handled(data.n, data.dueMs);
          if (handler === 'update') await pool.query(ITEMS.close, [data.n]);
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
    async cancelInTransaction(n) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const db: BossDatabase = { executeSql: (text, values) => client.query(text, values) };
        const answer = await boss.cancel(QUEUE, idOf(n), { db });
        await client.query('COMMIT');
        client.release();
        return isFound(answer);
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
    async stop() {
      await boss.stop({ graceful: true });
      await pool.end();
    },
  };
}

const isFound = (answer: object): boolean => 'affected' in answer && answer.affected === 1;

async function left(url: string): Promise<number> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1 AND state < 'completed'",
      [QUEUE],
    );
    return rows[0]?.count ?? Number.NaN;
  } finally {
    await client.end();
  }
}
