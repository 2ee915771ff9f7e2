import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DelayConfigError, DelayEvents, DelayQueueModule, DelayService } from 'nestjs-delay-queue';
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DataSource } from 'typeorm';
import { appModule, plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';
import { Declarations, EngineConnections, Worker } from '../../support/engine-parts.js';

const stage = stageOfEach({ force: true });

const handler = plainHandler('test.noop', () => {});
const QUIET = { logger: false, abortOnError: false } as const;

/** An application that makes its DataSource by itself. */
function withOwn(made: DataSource, ...providers: Provider[]): DynamicModule {
  @Module({})
  class Database {}
  @Module({})
  class Root {}
  const database = {
    module: Database,
    global: true,
    providers: [{ provide: DataSource, useValue: made }],
    exports: [DataSource],
  };
  return {
    module: Root,
    imports: [database, DelayQueueModule.forRoot()],
    providers: [handler, ...providers],
  };
}

const made = (): DataSource => new DataSource({ type: 'postgres', url: stage.url });

describe('a DataSource that is not initialized', () => {
  it('stops the start, and nothing connects to wherever PGDATABASE and the like lead', async () => {
    const elsewhere = new URL(stage.url);
    const before = { ...process.env };
    Object.assign(process.env, {
      PGHOST: elsewhere.hostname,
      PGPORT: elsewhere.port,
      PGUSER: elsewhere.username,
      PGPASSWORD: elsewhere.password,
      PGDATABASE: elsewhere.pathname.slice(1),
    });
    try {
      const start = NestFactory.createApplicationContext(withOwn(made()), QUIET);
      const error = await start.then(
        () => undefined,
        (refused: unknown) => refused,
      );
      expect(error).toBeInstanceOf(DelayConfigError);
      expect(String(error)).toMatch(/not initialized.*initialize\(\)/);
    } finally {
      process.env = before;
    }
    expect(await stage.sql('SELECT id FROM delay_queue.node')).toEqual([]);
  });

  it('is one that a provider initializes in its onModuleInit', async () => {
    const dataSource = made();
    const initializes = {
      provide: 'initializes',
      useValue: { onModuleInit: () => dataSource.initialize() },
    };
    const root = withOwn(dataSource, initializes);
    const app = await NestFactory.createApplicationContext(root, QUIET);
    expect(await stage.sql('SELECT names FROM delay_queue.node')).toMatchObject([{}]);
    await app.close();
    await dataSource.destroy();
  });
});

describe('a second copy of @nestjs/core', () => {
  let folder: string;

  beforeAll(() => {
    const core = dirname(
      realpathSync(createRequire(import.meta.url).resolve('@nestjs/core/package.json')),
    );
    folder = mkdtempSync(join(dirname(dirname(dirname(core))), 'node_modules', '.two-cores-'));
    cpSync(core, join(folder, 'core'), { recursive: true });
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('stops the start with what to do, and not with a riddle about providers', async () => {
    const copy = pathToFileURL(join(folder, 'core', 'index.js')).href;
    const other = (await import(copy)) as { NestFactory: typeof NestFactory };
    expect(other.NestFactory).not.toBe(NestFactory);
    const dataSource = await made().initialize();
    const start = other.NestFactory.createApplicationContext(withOwn(dataSource), QUIET);
    const error = await start.then(
      () => undefined,
      (refused: unknown) => refused,
    );
    await dataSource.destroy();
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(String(error)).toMatch(/two different copies of @nestjs\/core.*npm ls @nestjs\/core/);
  });
});

describe('an application whose hooks are never called', () => {
  it('is told once that nothing runs', async () => {
    const compiled = await Test.createTestingModule({
      imports: [appModule({ url: stage.url, providers: [handler] })],
    }).compile();
    const advised = signal();
    const advice: string[] = [];
    compiled.get(DelayEvents).on('advice', ({ message }) => {
      advice.push(message);
      advised.resolve();
    });
    const delays = compiled.get(DelayService);
    await delays.schedule('test.noop', null, { after: 0, key: 'a' });
    await advised.promise;
    await delays.scheduleMany([{ name: 'test.noop', payload: null, after: 0, key: 'b' }]);
    expect(advice).toEqual([expect.stringMatching(/hooks .* not called.*init\(\)/)]);
    await compiled.close();
  });
});

/** Nest lets an HTTP application be closed before its `init` is over. */
it.each([
  [
    'asks the database',
    (held: () => Promise<void>) =>
      stage.parts.intercept(
        EngineConnections,
        'query',
        async ({ real }) => (await held(), real()),
        1,
      ),
  ],
  [
    'starts its worker',
    (held: () => Promise<void>) =>
      stage.parts.intercept(Declarations, 'start', async ({ real }) => (await held(), real())),
  ],
])('a node that is closed while it %s leaves nothing behind', async (_, holdBy) => {
  const [reached, gate] = [signal(), signal()];
  holdBy(() => {
    reached.resolve();
    return gate.promise;
  });
  const setup = {
    url: stage.url,
    parts: stage.parts,
    providers: [plainHandler('test.a', () => {})],
  };
  const app = await NestFactory.create(appModule(setup), { logger: false, abortOnError: false });
  const init = app.init();
  await reached.promise;
  const closed = app.close();
  await new Promise(setImmediate);
  gate.resolve();
  await Promise.all([init, closed]);
  expect(await stage.sql('SELECT id FROM delay_queue.node')).toEqual([]);
});

it('a start that outlasts the end comes to nothing by itself', async () => {
  const [reached, gate, done] = [signal(), signal(), signal()];
  stage.parts.intercept(Declarations, 'start', async ({ real }) => {
    reached.resolve();
    await gate.promise;
    return real();
  });
  stage.parts.intercept(Worker, 'drain', async ({ real }) => {
    const unfinished = await real();
    done.resolve();
    return unfinished;
  });
  const setup = {
    url: stage.url,
    parts: stage.parts,
    providers: [plainHandler('test.a', () => {})],
  };
  const app = await NestFactory.create(appModule(setup), { logger: false, abortOnError: false });
  const told: string[] = [];
  const events = app.get(DelayEvents);
  for (const event of ['ready', 'stopped'] as const) events.on(event, () => told.push(event));
  const init = app.init();
  await reached.promise;
  await app.close();
  gate.resolve();
  await Promise.all([init, done.promise]);
  expect(told).toEqual(['stopped']);
});
