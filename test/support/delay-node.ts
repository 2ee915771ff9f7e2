import { inspect } from 'node:util';
import {
  type DynamicModule,
  type INestApplicationContext,
  type LoggerService,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  DelayAdmin,
  type DelayBatchContext,
  type DelayContext,
  DelayEvents,
  type DelayEventMap,
  DelayQueueModule,
  type DelayQueueOptions,
  DelayService,
  OnDelay,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
  WheelService,
} from 'nestjs-delay-queue';
import type { Client } from 'pg';
import { DataSource, type DataSourceOptions, type EntitySchema } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Json } from './delay-payloads.js';
import type { Parts } from './parts.js';

@Module({})
class TestAppModule {}

/** What a test gives a node to run. */
export interface NodeSetup {
  url: string;
  providers?: Provider[];
  options?: DelayQueueOptions;
  /** How the application gets to its database, instead of by `url` and `poolMax`. */
  database?: Omit<PostgresDataSourceOptions, 'type'>;
  /** Size of the application's pool. Default 20. */
  poolMax?: number;
  /** Class of the connections, of this node and of its application. */
  Client?: typeof Client;
  entities?: EntitySchema[];
  /** By which the test watches and replaces methods of this node's parts. */
  parts?: Parts;
  /** Makes and opens the DataSource, in the place of @nestjs/typeorm. */
  openDataSource?: (options?: DataSourceOptions) => Promise<DataSource>;
  logger?: false | LoggerService | ['error' | 'warn' | 'log', ...('error' | 'warn' | 'log')[]];
}

/** A running application with the delay queue in it. */
export interface DelayNode {
  app: INestApplicationContext;
  delays: DelayService;
  admin: DelayAdmin;
  events: DelayEvents;
  dataSource: DataSource;
  wheel: WheelService;
  /** The next event of that kind that matches; fails after 15 s, and says which came instead. */
  next<K extends keyof DelayEventMap>(
    event: K,
    matches?: (data: DelayEventMap[K][0]) => boolean,
  ): Promise<DelayEventMap[K][0]>;
  stop(): Promise<void>;
}

/** Events come at once; on a busy machine none was seen to take 10 s. */
const EVENT_WITHIN_MS = 45_000;
/** Of those that did not match, so many are told of. */
const TOLD_MAX = 3;

/** Of nodes alone: a run may give them a role with settings of its own (`test/servers/matrix.ts`). */
function asNodesRole(given: string): string {
  const role = process.env['TEST_NODE_ROLE'];
  if (role === undefined) return given;
  const url = new URL(given);
  // Whoever is somebody else on purpose stays it.
  if (url.username !== 'postgres') return given;
  [url.username, url.password] = role.split(':') as [string, string];
  return url.href;
}

export function appModule({
  url,
  providers = [],
  options,
  poolMax = 20,
  entities = [],
  parts,
  Client,
  database = {
    url: asNodesRole(url),
    entities,
    extra: { max: poolMax, ...(Client && { Client }) },
  },
  openDataSource,
}: NodeSetup): DynamicModule {
  const queue = DelayQueueModule.forRoot(options);
  const typeOrm = { type: 'postgres', ...database, retryAttempts: 0 } as const;
  return {
    module: TestAppModule,
    imports: [
      openDataSource === undefined
        ? TypeOrmModule.forRoot(typeOrm)
        : TypeOrmModule.forRootAsync({
            useFactory: () => typeOrm,
            dataSourceFactory: openDataSource,
          }),
      parts?.in(queue) ?? queue,
    ],
    providers,
  };
}

export async function startNode(setup: NodeSetup): Promise<DelayNode> {
  const app = await NestFactory.createApplicationContext(appModule(setup), {
    logger: setup.logger ?? false,
    abortOnError: false,
  });
  await app.init();
  const events = app.get(DelayEvents);
  let stopped: Promise<void> | undefined;
  return {
    app,
    delays: app.get(DelayService),
    admin: app.get(DelayAdmin),
    events,
    dataSource: app.get(DataSource),
    wheel: app.get(WheelService),
    next: (event, matches = () => true) => nextEvent(events, event, matches),
    stop: () => (stopped ??= app.close()),
  };
}

function nextEvent<K extends keyof DelayEventMap>(
  events: DelayEvents,
  event: K,
  matches: (data: DelayEventMap[K][0]) => boolean,
): Promise<DelayEventMap[K][0]> {
  const others: DelayEventMap[K][0][] = [];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      events.off(event, listener);
      const instead = others.length > 0 ? `; instead: ${inspect(others.slice(-TOLD_MAX))}` : '';
      const what = `${event} for which ${String(matches).replaceAll(/\s+/g, ' ')}`;
      reject(new Error(`waited ${EVENT_WITHIN_MS} ms for an event ${what}${instead}`));
    }, EVENT_WITHIN_MS);
    const listener = (data: DelayEventMap[K][0]): void => {
      if (!matches(data)) {
        others.push(data);
        return;
      }
      clearTimeout(timer);
      events.off(event, listener);
      resolve(data);
    };
    events.on(event, listener);
  });
}

type TestName = `test.${string}`;
type Run = (delay: Delay<TestName> & { payload: Json }, ctx: DelayContext) => Promise<void> | void;
type RunFenced = (
  delay: Delay<TestName> & { payload: Json },
  ctx: TransactionalDelayContext,
) => Promise<void> | void;

/** A provider with one plain handler. */
export function plainHandler(name: TestName, run: Run, options: OnDelayOptions = {}): Type {
  class PlainHandler {
    @OnDelay(name, { ...options, transactional: false })
    handle(delay: Delay<TestName>, ctx: DelayContext): Promise<void> | void {
      return run(delay, ctx);
    }
  }
  return PlainHandler;
}

/** A provider with one transactional handler. */
export function fencedHandler(name: TestName, run: RunFenced, options: OnDelayOptions = {}): Type {
  class FencedHandler {
    @OnDelay(name, { ...options, transactional: true })
    handle(delay: Delay<TestName>, ctx: TransactionalDelayContext): Promise<void> | void {
      return run(delay, ctx);
    }
  }
  return FencedHandler;
}

type TestDelay = Delay<TestName> & { payload: Json };
type RunBatch = (delays: TestDelay[], ctx: DelayBatchContext) => Promise<void> | void;
type RunFencedBatch = (
  delays: TestDelay[],
  ctx: TransactionalDelayBatchContext,
) => Promise<void> | void;

/** A provider with one plain batch handler. */
export function batchHandler(name: TestName, run: RunBatch, options: OnDelayBatchOptions): Type {
  class BatchHandler {
    @OnDelay(name, { ...options, transactional: false })
    handle(delays: Delay<TestName>[], ctx: DelayBatchContext): Promise<void> | void {
      return run(delays, ctx);
    }
  }
  return BatchHandler;
}

/** A provider with one transactional batch handler. */
export function fencedBatchHandler(
  name: TestName,
  run: RunFencedBatch,
  options: OnDelayBatchOptions,
): Type {
  class FencedBatchHandler {
    @OnDelay(name, { ...options, transactional: true })
    handle(delays: Delay<TestName>[], ctx: TransactionalDelayBatchContext): Promise<void> | void {
      return run(delays, ctx);
    }
  }
  return FencedBatchHandler;
}

/** A promise and what settles it. */
export interface Signal<Value> {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (error: unknown) => void;
}

export function signal<Value = void>(): Signal<Value> {
  const made: Partial<Signal<Value>> = {};
  made.promise = new Promise<Value>((resolve, reject) => {
    Object.assign(made, { resolve, reject });
  });
  return made as Signal<Value>;
}
