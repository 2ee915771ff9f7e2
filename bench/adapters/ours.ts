import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  DelayEvents,
  DelayQueueModule,
  delayQueueMigrations,
  type DelayQueueOptions,
  DelayService,
  OnDelay,
  runMigrations,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { AttemptStore } from '../../src/delay-queue/core/store/attempt.store.js';
import { LimitStore } from '../../src/delay-queue/core/store/limit.store.js';
import { Viewers } from './dashboards.js';
import { closeOrder, closeOrders, POOL_MAX } from './orders.js';
import { hearChannels, startSdk } from './telemetry.js';
import { withClient, numberAt } from '../server/bench-server.js';
import {
  type Adapter,
  type Batch,
  type BenchProducer,
  HANDLERS,
  type Hears,
  type Running,
} from './adapter.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'bench.run': { n: number };
  }
}

const NAME = 'bench.run';

/** Each delay in a trace of its own. */
const TRACED = `jsonb_build_object('traceparent', '00-' || md5('trace ' || n) || '-' || left(md5('span ' || n), 16) || '-01')`;

@Module({})
class BenchAppModule {}

export const OURS = ours('ours, history on', {});
export const OURS_WITHOUT_HISTORY = ours('ours, history off', { history: false });
export const OURS_WITH_ATTEMPTS = {
  ...ours('ours with attempts', { history: { attempts: true } }),
  onlyByName: 'few applications keep them',
};

export const OURS_WITH_CHANNELS = {
  ...ours('ours with channels', {}, { begin: hearChannels }),
  onlyByName: 'it shows what subscribers of all channels cost',
};
export const OURS_WITH_TELEMETRY = {
  ...ours(
    'ours with OpenTelemetry',
    { telemetry: openTelemetry() },
    { begin: startSdk, headersSql: TRACED },
  ),
  onlyByName: 'it shows what spans and metrics of each delay cost',
};

export const OURS_WITH_DASHBOARDS = {
  ...ours('ours with five dashboards', {}, { isWatched: true }),
  onlyByName: 'it shows what five open dashboards cost',
};

interface Around {
  /** In a process of it, before its application. */
  begin?: () => void;
  /** Headers of the delays that are due. */
  headersSql?: string;
  /** Five dashboards are open while it works. */
  isWatched?: boolean;
}

function ours(
  name: string,
  options: DelayQueueOptions,
  { begin, headersSql, isWatched = false }: Around = {},
): Adapter {
  return {
    name,
    settings: `${name}: all other options as they come; a pool of ${POOL_MAX} connections`,
    handlers: HANDLERS,
    takesConcurrency: true,
    prepare,
    fill: (url, batch) => withClient(url, (client) => fillDelays(client, batch, { headersSql })),
    left,
    async openWorker(url, running, hears) {
      begin?.();
      const handler = handlerOf(running, hears);
      tellClaims(hears);
      const more = isWatched ? [DelayQueueDashboardModule.forRoot({ authorize: 'loopback' })] : [];
      const app = await compile(url, options, [handler], more);
      app.get(DelayEvents).on('completed', () => hears.settled());
      if (isWatched) return watched(app);
      return {
        // The engine starts with the application, whose pool is connected already.
        start: async () => void (await app.init()),
        stop: () => app.close(),
      };
    },
    async openProducer(url) {
      begin?.();
      const app = await compile(url, { ...options, worker: false }, []);
      await app.init();
      return producerOf(app);
    },
  };
}

/** Its engine starts with its HTTP server. */
async function watched(
  module: TestingModule,
): Promise<{ start(): Promise<void>; stop(): Promise<void> }> {
  const app = module.createNestApplication({ logger: ['error', 'warn'] });
  const viewers = await Viewers.come();
  return {
    start: () => viewers.open(app),
    stop: async () => {
      await viewers.leave();
      await app.close();
    },
  };
}

/** Of the engine in this process: claims of names with limits, too. */
export function tellClaims(hears: Hears): void {
  for (const { prototype } of [AttemptStore, LimitStore]) {
    const claim = prototype.claim as (...given: unknown[]) => Promise<never>;
    prototype.claim = function (...given: unknown[]) {
      hears.claimed();
      return claim.apply(this, given);
    };
  }
}

function producerOf(app: TestingModule): BenchProducer {
  const delays = app.get(DelayService);
  const dataSource = app.get(DataSource);
  return {
    schedule: async (n, dueInMs) =>
      void (await delays.schedule(NAME, { n }, { key: keyOf(n), after: dueInMs })),
    scheduleMany: async (first, count, dueInMs) => {
      const items = Array.from({ length: count }, (_, index) => {
        const n = first + index;
        return { name: NAME, payload: { n }, key: keyOf(n), after: dueInMs } as const;
      });
      await delays.scheduleMany(items);
    },
    cancel: async (n) => (await delays.cancel(NAME, keyOf(n))).verdict === 'cancelled',
    cancelInTransaction: (n) =>
      dataSource.transaction(async (manager) => {
        const { verdict } = await delays.cancel(NAME, keyOf(n), { manager });
        return verdict === 'cancelled';
      }),
    stop: () => app.close(),
  };
}

const keyOf = (n: number): string => String(n);

/** `Test` compiles an application without starting it, which `NestFactory` does in one go. */
export async function compile(
  url: string,
  options: DelayQueueOptions,
  providers: Type[],
  more: DynamicModule[] = [],
): Promise<TestingModule> {
  const root: DynamicModule = {
    module: BenchAppModule,
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, extra: { max: POOL_MAX }, retryAttempts: 0 }),
      DelayQueueModule.forRoot(options),
      ...more,
    ],
    providers,
  };
  const app = await Test.createTestingModule({ imports: [root] }).compile();
  app.useLogger(['error', 'warn']);
  return app;
}

function handlerOf({ handler, concurrency, batch }: Running, hears: Hears): Type {
  const options = concurrency === undefined ? {} : { concurrency };
  const heard = ({ payload, dueAt, latenessMs }: Delay<typeof NAME>): void =>
    hears.handled(payload.n, dueAt.getTime(), latenessMs);

  class Plain {
    @OnDelay(NAME, options)
    run(delay: Delay<typeof NAME>): void {
      heard(delay);
    }
  }
  class Async {
    @OnDelay(NAME, options)
    async run(delay: Delay<typeof NAME>): Promise<void> {
      heard(delay);
    }
  }
  class Close {
    @OnDelay(NAME, { ...options, transactional: true })
    async run(delay: Delay<typeof NAME>, { manager }: TransactionalDelayContext): Promise<void> {
      heard(delay);
      await closeOrder(manager, delay.payload.n);
    }
  }
  class CloseMany {
    @OnDelay(NAME, { ...options, transactional: true, batch: batch ?? 1 })
    async run(
      all: Delay<typeof NAME>[],
      { manager }: TransactionalDelayBatchContext,
    ): Promise<void> {
      for (const delay of all) heard(delay);
      await closeOrders(
        manager,
        all.map(({ payload }) => payload.n),
      );
    }
  }
  const close = batch === undefined ? Close : CloseMany;
  return { plain: Plain, async: Async, close }[handler];
}

export async function prepare(url: string): Promise<void> {
  const source = new DataSource({ type: 'postgres', url, migrations: delayQueueMigrations() });
  await source.initialize();
  try {
    await runMigrations(source);
  } finally {
    await source.destroy();
  }
}

/** @param groupSql the group of delay `n` */
export async function fillDelays(
  client: Client,
  { first, count, dueFromMs, dueToMs }: Batch,
  {
    groupSql = 'NULL',
    headersSql = 'NULL',
  }: { groupSql?: string; headersSql?: string | undefined } = {},
): Promise<void> {
  await client.query(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id, headers)
     SELECT $1, jsonb_build_object('n', n), due, due, clock_timestamp(), ${groupSql}, ${headersSql}
     FROM generate_series(0, $3::int - 1) AS i, LATERAL (SELECT $2::int + i) AS numbered(n),
          LATERAL (SELECT date_trunc('milliseconds', now()
                     + ($4::float8 + ($5::float8 - $4::float8) * i / $3::int)
                     * interval '1 millisecond')) AS d(due)`,
    [NAME, first, count, dueFromMs, dueToMs],
  );
}

function left(url: string): Promise<number> {
  return numberAt(url, 'SELECT count(*)::int AS count FROM delay_queue.delay');
}
