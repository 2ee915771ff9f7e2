import { openShop } from './orders.js';
import { load } from '../peers/load.js';
import { withClient } from '../server/bench-server.js';
import { redisPath, RedisServer } from '../server/redis-server.js';
import { missingPackages, named, pagesOf } from './peer.js';
import {
  type Adapter,
  type Batch,
  type BenchProducer,
  type BenchWorker,
  HANDLERS,
  type Hears,
  type Running,
} from './adapter.js';
import type { Backend, BullConnection, BullMQ, BullQueue } from './bullmq.surface.js';

const BULLMQ = 'bullmq';

const NAME = 'bench.run';

/** What stands in the store until it is done with; the rest are failures, which there are none of. */
const LEFT = ['wait', 'active', 'delayed', 'prioritized', 'paused'];

const FILL_PAGE = 1_000;

/** The delay of an overdue job: without one it would not be among the delayed. */
const OVERDUE_DELAY_MS = 1;

/** Where a queue is. */
interface BullStore {
  connection: BullConnection;
  backend?: (bullmq: BullMQ) => Backend;
}

const REDIS_CONCURRENCY = 100;

export const BULLMQ_REDIS: readonly Adapter[] = [
  bullmqRedis(
    'everysec',
    new RedisServer('everysec'),
    'a crash loses up to a second of what was acknowledged',
  ),
  bullmqRedis('always', new RedisServer('always'), 'what is acknowledged is on the disk'),
];

function bullmqRedis(fsync: string, redis: RedisServer, durability: string): Adapter {
  const name = `BullMQ Redis ${fsync}`;
  const store = (): BullStore => ({ connection: { ...redis.address, maxRetriesPerRequest: null } });
  return {
    name,
    get settings() {
      return (
        `${name}: ${named(BULLMQ)}, ${named('ioredis')}, concurrency ${REDIS_CONCURRENCY}, ` +
        `removeOnComplete; ${redis.settings}: ${durability}; ` +
        'its remove() answers 1 for an absent job, too'
      );
    },
    missing: () => [
      ...missingPackages(BULLMQ, 'ioredis'),
      ...(redisPath() ? [] : ['redis-server (apt-get install redis-server)']),
    ],
    elsewhere: redis,
    prepare: () => redis.empty(),
    async fill(_url, batch) {
      await fill(store(), batch);
      await redis.calm();
    },
    handlers: HANDLERS,
    openWorker: (url, running, hears) =>
      openWorker(store(), REDIS_CONCURRENCY, url, running, hears),
    openProducer: () => openProducer(store()),
    left: () => left(store()),
  };
}

const POSTGRES_CONCURRENCY = 10;
const POOL_MAX = 10;

const storeAt = (url: string): BullStore => ({
  connection: { connectionString: url, max: POOL_MAX },
  backend: ({ createPostgresBackend }) => createPostgresBackend,
});

export const BULLMQ_POSTGRES: Adapter = {
  name: 'BullMQ Postgres',
  get settings() {
    return (
      `BullMQ Postgres: ${named(BULLMQ)} on its Postgres backend, ` +
      `concurrency ${POSTGRES_CONCURRENCY}, pool ${POOL_MAX}, removeOnComplete`
    );
  },
  missing: () => missingPackages(BULLMQ, 'pg'),
  async prepare(url) {
    const { runMigrations } = await load<BullMQ>(BULLMQ);
    await withClient(url, async (client) => {
      await runMigrations(client);
    });
  },
  fill: (url, batch) => fill(storeAt(url), batch),
  handlers: HANDLERS,
  openWorker: (url, running, hears) =>
    openWorker(storeAt(url), POSTGRES_CONCURRENCY, url, running, hears),
  openProducer: (url) => openProducer(storeAt(url)),
  left: (url) => left(storeAt(url)),
};

async function withQueue<T>(store: BullStore, use: (queue: BullQueue) => Promise<T>): Promise<T> {
  const queue = await openQueue(store);
  try {
    return await use(queue);
  } finally {
    await queue.close();
  }
}

async function openQueue({ connection, backend }: BullStore): Promise<BullQueue> {
  const bullmq = await load<BullMQ>(BULLMQ);
  const options = { connection, defaultJobOptions: { removeOnComplete: true as const } };
  const queue = new bullmq.Queue(NAME, options, backend?.(bullmq));
  queue.on('error', report);
  await queue.waitUntilReady();
  return queue;
}

/** The bench ends connections when it drops a database, after the queue was closed. */
const ENDED = 'terminating connection';

function report({ message }: Error): void {
  if (!message.startsWith(ENDED)) process.stderr.write(`BullMQ: ${message}\n`);
}

const idOf = (n: number): string => `k${n}`;

/** Through its own calls: what a job consists of is spread over several keys. */
async function fill(store: BullStore, batch: Batch): Promise<void> {
  await withQueue(store, async (queue) => {
    for (const page of pagesOf(batch, FILL_PAGE)) {
      const nowMs = Date.now();
      const jobs = page.map(({ n, dueInMs }) => {
        const delay = Math.max(OVERDUE_DELAY_MS, dueInMs);
        const opts = { jobId: idOf(n), delay, timestamp: nowMs + dueInMs - delay };
        return { name: NAME, data: { n }, opts };
      });
      await queue.addBulk(jobs);
    }
  });
}

async function left(store: BullStore): Promise<number> {
  const counts = await withQueue(store, (queue) => queue.getJobCounts(...LEFT));
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

async function openWorker(
  { connection, backend }: BullStore,
  concurrency: number,
  url: string,
  { handler }: Running,
  hears: Hears,
): Promise<BenchWorker> {
  const shop = handler === 'close' ? await openShop(url) : undefined;
  const bullmq = await load<BullMQ>(BULLMQ);
  const worker = new bullmq.Worker(
    NAME,
    // The job's own `delay` is zero by now.
    async ({ data, timestamp, opts }) => {
      hears.handled(data.n, timestamp + (opts.delay ?? 0));
      if (shop) await shop.close(data.n);
    },
    { connection, concurrency, autorun: false },
    backend?.(bullmq),
  );
  worker.on('error', report);
  // Comes when the store has answered.
  worker.on('completed', () => hears.settled());
  await worker.waitUntilReady();
  return {
    async start() {
      void worker.run().catch(report);
    },
    async stop() {
      await worker.close();
      await shop?.end();
    },
  };
}

/** Not part of a transaction of the caller's: on neither store. */
async function openProducer(store: BullStore): Promise<BenchProducer> {
  const queue = await openQueue(store);
  return {
    async schedule(n, dueInMs) {
      await queue.add(NAME, { n }, { jobId: idOf(n), delay: dueInMs });
    },
    async scheduleMany(first, count, dueInMs) {
      const jobs = Array.from({ length: count }, (_, index) => {
        const n = first + index;
        return { name: NAME, data: { n }, opts: { jobId: idOf(n), delay: dueInMs } };
      });
      await queue.addBulk(jobs);
    },
    cancel: async (n) => (await queue.remove(idOf(n))) === 1,
    stop: () => queue.close(),
  };
}
