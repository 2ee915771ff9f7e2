import { jest } from '@jest/globals';
import {
  type DynamicModule,
  type INestApplicationContext,
  type LoggerService,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type Delay,
  type DelayBatchContext,
  type DelayContext,
  DelayQueueModule,
  OnDeadDelay,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { setTimeout as rest } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Engine } from '../../../src/delay-queue/core/engine/engine.js';
import type { Journal } from './journal.js';
import type { Neighbour, Program } from './program.js';

export const NAMES = ['test.brief', 'test.long', 'test.heeds', 'test.fenced', 'test.batch'];

const TIMEOUT_MS = 60;

/** Handlers that use a client, as long as it takes. */
function handlersOf(journal: Journal): Type {
  const work = async (turns: number): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) {
      await rest(2);
      journal.useClient();
    }
  };

  class Handlers {
    @OnDelay('test.brief', { maxAttempts: 1, transactional: false })
    brief(delay: Delay<'test.brief'>, ctx: DelayContext): Promise<void> {
      return journal.call([delay], ctx, () => work(2));
    }

    /** Its time may be over while the application closes. */
    @OnDelay('test.long', { maxAttempts: 1, timeout: TIMEOUT_MS, transactional: false })
    long(delay: Delay<'test.long'>, ctx: DelayContext): Promise<void> {
      return journal.call([delay], ctx, () => work(TIMEOUT_MS));
    }

    @OnDelay('test.heeds', { maxAttempts: 1, transactional: false })
    heeds(delay: Delay<'test.heeds'>, ctx: DelayContext): Promise<void> {
      return journal.call([delay], ctx, () => rest(500, undefined, { signal: ctx.signal }));
    }

    @OnDelay('test.fenced', { maxAttempts: 1, transactional: true })
    fenced(delay: Delay<'test.fenced'>, ctx: TransactionalDelayContext): Promise<void> {
      return journal.call([delay], ctx, async () => {
        await ctx.manager.query('SELECT pg_sleep(0.02)');
        journal.useClient();
      });
    }

    @OnDelay('test.batch', { maxAttempts: 1, transactional: false, batch: 5 })
    batch(delays: Delay<'test.batch'>[], ctx: DelayBatchContext): Promise<void> {
      return journal.call(delays, ctx, () => work(4));
    }

    @OnDeadDelay('test.long')
    gaveUp(): void {
      journal.useClient();
    }
  }
  return Handlers;
}

function neighbourOf(neighbour: Neighbour, index: number, journal: Journal): Provider {
  const { bootstrapMs, destroys, destroyMs } = neighbour;
  const name = `neighbour ${index}`;
  const bootstrap = {
    async onApplicationBootstrap() {
      await rest(bootstrapMs ?? 0);
      journal.toBootstrap -= 1;
    },
  };
  if (bootstrapMs !== null) journal.toBootstrap += 1;
  return {
    provide: name,
    inject: [DataSource],
    useFactory: (dataSource: DataSource) => ({
      ...(bootstrapMs === null ? {} : bootstrap),
      async onModuleDestroy() {
        journal.hook(`onModuleDestroy of ${name}`);
        await rest(destroyMs);
        if (destroys === 'client') journal.isClientClosed = true;
        if (destroys === 'DataSource' && dataSource.isInitialized) await dataSource.destroy();
        if (destroys === 'throws') throw new Error(`${name} does not end`);
      },
    }),
  };
}

/** Modules in each other, the first one the root. */
function rootOf(program: Program, journal: Journal, url: string): Type {
  const { depth, handlersDepth, isGlobal, neighbours, drainTimeoutMs } = program;
  const queue = DelayQueueModule.forRoot({
    isGlobal,
    drainTimeout: drainTimeoutMs,
    concurrency: 8,
    backoff: { base: 5, jitter: 0 },
  });
  let inner: Type | undefined;
  for (let level = 3; level >= 0; level -= 1) {
    const here = neighbours.filter((each) => each.depth === level);
    const imports: (Type | DynamicModule)[] = inner === undefined ? [] : [inner];
    if (level === depth) imports.push(queue);
    if (level === 0) {
      imports.push(TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0 }));
    }
    const providers = here.map((each) => neighbourOf(each, neighbours.indexOf(each), journal));
    if (level === handlersDepth) providers.push(handlersOf(journal));
    if (level === 0 && program.failsToBootstrap) providers.push(FAILS_TO_BOOTSTRAP);
    class Level {}
    Module({ imports, providers })(Level);
    inner = Level;
  }
  return inner as Type;
}

const FAILS_TO_BOOTSTRAP: Provider = {
  provide: 'fails to bootstrap',
  useValue: {
    async onApplicationBootstrap() {
      await rest(20);
      throw new Error('no bootstrap');
    },
  },
};

const say = (): void => {};
const SILENT: LoggerService = { log: say, error: say, warn: say };

async function applicationOf(program: Program, root: Type): Promise<INestApplicationContext> {
  const { as } = program;
  const how = { logger: false as const, abortOnError: false };
  if (as === 'http') return await NestFactory.create(root, how);
  const compiled = await Test.createTestingModule({ imports: [root] })
    .setLogger(SILENT)
    .compile();
  return as === 'testing http' ? compiled.createNestApplication() : compiled;
}

/** Ends it as the program says. Nest ends the process after a signal: here that is only looked for. */
async function end(app: INestApplicationContext, by: Program['by'], journal: Journal) {
  const ended = new Promise<void>((resolve) => {
    const tell = (() => {
      resolve();
      return true;
    }) as never;
    jest.spyOn(process, 'kill').mockImplementation(tell);
    jest.spyOn(process, 'exit').mockImplementation(tell);
  });
  journal.isClosing = true;
  if (by === 'SIGTERM' || by === 'SIGUSR2') {
    process.emit(by, by);
    await ended;
  } else {
    const closed = [app.close()];
    if (by === 'close twice') closed.push(app.close());
    // Before Nest 12 a hook that throws ends the close.
    await Promise.allSettled(closed);
  }
  jest.restoreAllMocks();
}

/** Runs a program from its start to its end. @returns whether it has started */
export async function play(program: Program, journal: Journal, url: string): Promise<boolean> {
  const root = rootOf(program, journal, url);
  let app: INestApplicationContext;
  if (program.as === 'context') {
    try {
      const how = { logger: false as const, abortOnError: false };
      app = await NestFactory.createApplicationContext(root, how);
    } catch (error) {
      if (program.failsToBootstrap) return false;
      throw error;
    }
  } else {
    app = await applicationOf(program, root);
  }
  app.enableShutdownHooks(program.by === 'SIGUSR2' ? ['SIGUSR2'] : []);
  let hasStarted = true;
  try {
    await app.init();
    await journal.whenBegun(program.calls);
  } catch (error) {
    if (!program.failsToBootstrap) throw error;
    hasStarted = false;
  }
  try {
    await end(app, program.by, journal);
  } finally {
    // Where a hook has thrown, Nest leaves the rest as it is.
    await app.get(Engine, { strict: false }).stop();
    const dataSource = app.get(DataSource, { strict: false });
    if (dataSource.isInitialized) await dataSource.destroy();
    for (const name of ['SIGTERM', 'SIGUSR2', 'SIGINT']) process.removeAllListeners(name);
  }
  return hasStarted;
}
