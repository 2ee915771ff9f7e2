import { openShop } from './orders.js';
import { load } from '../peers/load.js';
import type { Batch, BenchProducer, BenchWorker, HandlerKind, Hears, Running } from './adapter.js';
import type { Backend, BullConnection, BullMQ, BullQueue } from './bullmq.surface.js';

export const BULLMQ = 'bullmq';

const NAME = 'bench.run';

/** Which handlers it can be given. */
export const BULLMQ_HANDLERS: readonly HandlerKind[] = ['plain', 'async', 'close'];

/** What stands in the store until it is done with; the rest are failures, which there are none of. */
const LEFT = ['wait', 'active', 'delayed', 'prioritized', 'paused'];

const FILL_PAGE = 1_000;

/** The delay of an overdue job: without one it would not be among the delayed. */
const OVERDUE_DELAY_MS = 1;

/** Where a queue is. */
export interface BullStore {
  connection: BullConnection;
  backend?: (bullmq: BullMQ) => Backend;
}

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
export async function fill(
  store: BullStore,
  { first, count, dueFromMs, dueToMs }: Batch,
): Promise<void> {
  await withQueue(store, async (queue) => {
    for (let done = 0; done < count; done += FILL_PAGE) {
      const nowMs = Date.now();
      const jobs = Array.from({ length: Math.min(FILL_PAGE, count - done) }, (_, index) => {
        const n = first + done + index;
        const dueInMs = Math.round(dueFromMs + ((dueToMs - dueFromMs) * (done + index)) / count);
        const delay = Math.max(OVERDUE_DELAY_MS, dueInMs);
        const opts = { jobId: idOf(n), delay, timestamp: nowMs + dueInMs - delay };
        return { name: NAME, data: { n }, opts };
      });
      await queue.addBulk(jobs);
    }
  });
}

export async function left(store: BullStore): Promise<number> {
  const counts = await withQueue(store, (queue) => queue.getJobCounts(...LEFT));
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export async function openWorker(
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
export async function openProducer(store: BullStore): Promise<BenchProducer> {
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
