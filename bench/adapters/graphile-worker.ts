import { Pool, type PoolClient } from 'pg';
import { openShop, type Shop } from './orders.js';
import { load } from '../peers/load.js';
import { withClient, numberAt } from '../server/bench-server.js';
import {
  type Adapter,
  type Batch,
  type BenchProducer,
  type BenchWorker,
  type HandlerKind,
  HANDLERS,
  type Hears,
  type Running,
} from './adapter.js';
import type {
  GraphileClient,
  GraphileHelpers,
  GraphileTask,
  GraphileWorker,
} from './graphile-worker.surface.js';
import { named, onNewerNode, peersNodeVersion } from './peer.js';

const PACKAGE = 'graphile-worker';
const TASK = 'bench.run';
const PRODUCER_POOL_MAX = 20;
const FILL_PAGE = 50_000;

/** The statements that fetch jobs, and that remove completed ones, by the names under which they are prepared. */
const FETCH = /^get_job/;
const COMPLETE = /^complete_jobs?\//;

interface Preset {
  concurrentJobs: number;
  maxPoolSize: number;
  pollInterval?: number;
  localQueue?: { size: number };
  completeJobBatchDelay?: number;
  failJobBatchDelay?: number;
}

/** What its documentation gives its own benchmark figures for. */
const BATCHED: Preset = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

export const GRAPHILE_WORKER: readonly Adapter[] = [
  graphileWorker('default', '10 jobs, pool 10, all else as it comes (poll 2 s)', {
    concurrentJobs: 10,
    maxPoolSize: 10,
  }),
  graphileWorker('batched', '24 jobs, pool 25, localQueue 500, batch delays 0, poll 2 s', BATCHED),
  graphileWorker('poll100', 'as batched, pollInterval 100 ms', { ...BATCHED, pollInterval: 100 }),
];

function graphileWorker(variant: string, shownPreset: string, preset: Preset): Adapter {
  const name = `${PACKAGE} ${variant}`;
  return {
    name,
    get settings() {
      return `${name}: ${named(PACKAGE)} on ${peersNodeVersion()}; ${shownPreset}; success unlogged`;
    },
    ...onNewerNode(PACKAGE),
    prepare,
    fill,
    handlers: HANDLERS,
    openWorker: (url, running, hears) => openWorker(url, preset, running, hears),
    openProducer,
    left,
  };
}

async function loadQuietly(): Promise<{ worker: GraphileWorker; logger: unknown }> {
  // As its own benchmark has it; otherwise each job writes a line.
  process.env.NO_LOG_SUCCESS = '1';
  const worker = await load<GraphileWorker>(PACKAGE);
  const logger = new worker.Logger(() => (level, message) => {
    if (level === 'error' || level === 'warning') process.stderr.write(`${message}\n`);
  });
  return { worker, logger };
}

async function prepare(url: string): Promise<void> {
  const { worker, logger } = await loadQuietly();
  await worker.runMigrations({ connectionString: url, logger });
}

async function fill(url: string, { first, count, dueFromMs, dueToMs }: Batch): Promise<void> {
  await withClient(url, async (client) => {
    for (let done = 0; done < count; done += FILL_PAGE) {
      await client.query(
        `SELECT count(*) FROM graphile_worker.add_jobs((
           SELECT array_agg(ROW('${TASK}', json_build_object('n', n), NULL,
             date_trunc('milliseconds', now()
               + ($4::float8 + ($5::float8 - $4::float8) * i / $3::int) * interval '1 millisecond'),
             NULL, 'k' || n, NULL, NULL)::graphile_worker.job_spec)
           FROM generate_series($2::int, least($2::int + ${FILL_PAGE}, $3::int) - 1) AS i,
                LATERAL (SELECT $1::int + i) AS numbered(n)))`,
        [first, done, count, dueFromMs, dueToMs],
      );
    }
  });
}

async function openWorker(
  url: string,
  preset: Preset,
  { handler }: Running,
  hears: Hears,
): Promise<BenchWorker> {
  const { worker, logger } = await loadQuietly();
  const pgPool = new Pool({ connectionString: url, max: preset.maxPoolSize });
  pgPool.on('error', () => {});
  pgPool.on('connect', (client) => hearStatements(client, hears));
  // So many at a time open so many connections.
  await Promise.all(
    Array.from({ length: preset.maxPoolSize }, () => pgPool.query('SELECT pg_sleep(0.01)')),
  );
  const shop = handler === 'close' ? await openShop(url) : undefined;
  let runner: Awaited<ReturnType<GraphileWorker['run']>> | undefined;
  return {
    async start() {
      runner = await worker.run({
        pgPool,
        logger,
        preset: { worker: preset },
        noHandleSignals: true,
        parsedCronItems: [],
        taskList: { [TASK]: taskOf(handler, hears, shop) },
      });
    },
    async stop() {
      await runner?.stop();
      await pgPool.end();
      await shop?.end();
    },
  };
}

function taskOf(handler: HandlerKind, hears: Hears, shop: Shop | undefined): GraphileTask {
  const heard = ({ n }: { n: number }, { job }: GraphileHelpers): void =>
    hears.handled(n, job.run_at.getTime());
  const tasks: Record<HandlerKind, GraphileTask> = {
    plain: heard,
    async: async (payload, helpers) => heard(payload, helpers),
    close: async (payload, helpers) => {
      heard(payload, helpers);
      await shop?.close(payload.n);
    },
  };
  return tasks[handler];
}

/** Its own events come before the rows go: it deletes in the background, batched or not. */
function hearStatements(client: PoolClient, hears: Hears): void {
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  const heard = (...given: unknown[]): Promise<unknown> => {
    const answer = query(...given);
    const { name, values } = given[0] as { name?: string; values?: readonly unknown[] };
    if (name !== undefined && FETCH.test(name)) hears.claimed();
    if (name === undefined || !COMPLETE.test(name)) return answer;
    const ids = values?.[0];
    const count = Array.isArray(ids) ? ids.length : 1;
    return answer.then((result) => {
      for (let settled = 0; settled < count; settled += 1) hears.settled();
      return result;
    });
  };
  client.query = heard as typeof client.query;
}

async function openProducer(url: string): Promise<BenchProducer> {
  const { worker, logger } = await loadQuietly();
  const utils = await worker.makeWorkerUtils({
    connectionString: url,
    maxPoolSize: PRODUCER_POOL_MAX,
    logger,
  });
  return {
    async schedule(n, dueInMs) {
      await utils.addJob(TASK, { n }, { runAt: new Date(Date.now() + dueInMs), jobKey: `k${n}` });
    },
    async scheduleMany(first, count, dueInMs) {
      const runAt = new Date(Date.now() + dueInMs);
      await utils.addJobs(
        Array.from({ length: count }, (_, index) => {
          const n = first + index;
          return { identifier: TASK, payload: { n }, runAt, jobKey: `k${n}` };
        }),
      );
    },
    cancel: (n) => utils.withPgClient((client) => remove(client, n)),
    cancelInTransaction: (n) =>
      utils.withPgClient(async (client) => {
        await client.query('BEGIN');
        const found = await remove(client, n);
        await client.query('COMMIT');
        return found;
      }),
    async stop() {
      await utils.release();
    },
  };
}

/** By its key, in SQL, as its documentation has it. @returns whether it was there */
async function remove(client: GraphileClient, n: number): Promise<boolean> {
  const { rows } = await client.query('SELECT id FROM graphile_worker.remove_job($1)', [`k${n}`]);
  return (rows as { id: string | null }[]).some(({ id }) => id !== null);
}

function left(url: string): Promise<number> {
  return numberAt(url, 'SELECT count(*)::int AS count FROM graphile_worker._private_jobs');
}
