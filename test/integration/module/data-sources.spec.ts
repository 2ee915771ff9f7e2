import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Global, type ModuleMetadata, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayConfigError,
  DelayEvents,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayService,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { fencedHandler } from '../../support/delay-node.js';
import { refusedApp } from '../engine/support/refused-start.js';
import { Stage } from '../engine/support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

// By force: when a start is refused while TypeORM is still connecting, Nest closes nothing.
afterEach(() => stage.close({ force: true }));

@Module({})
class RootModule {}

const handler = fencedHandler('test.fenced', async (_, { manager }) => {
  await manager.query('SELECT 1');
});

const typeOrm = (name?: string): DynamicModule =>
  TypeOrmModule.forRoot({
    type: 'postgres',
    url: stage.url,
    retryAttempts: 0,
    ...(name && { name }),
  });

const app = (...imports: NonNullable<ModuleMetadata['imports']>): DynamicModule => ({
  module: RootModule,
  imports,
  providers: [handler],
});

const queue = (options: DelayQueueModuleOptions = {}): DynamicModule =>
  DelayQueueModule.forRoot(options);

/** A module of the application's own that provides a DataSource, as Nest's documentation shows it. */
function ownModule(token: string | symbol | typeof DataSource): DynamicModule {
  @Module({})
  class DatabaseModule {}
  return {
    module: DatabaseModule,
    providers: [
      {
        provide: token,
        useFactory: () => new DataSource({ type: 'postgres', url: stage.url }).initialize(),
      },
      {
        provide: 'closing',
        inject: [token],
        useFactory: (dataSource: DataSource) => ({
          onApplicationShutdown: () => dataSource.destroy(),
        }),
      },
    ],
    exports: [token],
  };
}

const global = (module: DynamicModule): DynamicModule => ({ ...module, global: true });

/** Starts it, and has a delay scheduled in a transaction of that DataSource fire. */
async function firesIn(
  root: DynamicModule,
  token: string | symbol | typeof DataSource,
): Promise<string> {
  const nest = await NestFactory.createApplicationContext(root, {
    logger: false,
    abortOnError: false,
  });
  try {
    const completed = new Promise((resolve) => nest.get(DelayEvents).once('completed', resolve));
    const delays = nest.get(DelayService, { strict: false });
    await nest
      .get<DataSource>(token, { strict: false })
      .transaction((manager) => delays.schedule('test.fenced', 1, { after: 0, manager }));
    await completed;
    return 'fired';
  } finally {
    await nest.close();
  }
}

async function refusal(root: DynamicModule): Promise<string> {
  const error = await refusedApp(root);
  expect(error).toBeInstanceOf(DelayConfigError);
  return String(error);
}

describe('the delays live in the DataSource that is chosen', () => {
  it.each([
    ['the default one', undefined, DataSource],
    ['a named one', 'jobs', 'jobsDataSource'],
  ])('%s of TypeOrmModule', async (_, name, token) => {
    const chosen = queue(name ? { dataSource: name } : {});
    expect(await firesIn(app(typeOrm(name), chosen), token)).toBe('fired');
  });

  it('a named one beside the default one, whose managers are refused', async () => {
    const nest = await NestFactory.createApplicationContext(
      app(typeOrm(), typeOrm('jobs'), queue({ dataSource: 'jobs' })),
      { logger: false },
    );
    const { manager } = nest.get(DataSource);
    const call = nest.get(DelayService).schedule('test.fenced', 1, { after: '1h', manager });
    await expect(call).rejects.toMatchObject({
      code: 'DELAY_INVALID',
      field: 'manager',
      why: expect.stringContaining('another DataSource'),
    });
    await nest.close();
  });

  it.each([['DATA_SOURCE'], [Symbol('of a test')], [DataSource]])(
    'one that a module of the application provides as %p, without @nestjs/typeorm',
    async (token) => {
      const dataSource = token === DataSource ? {} : { dataSource: token };
      expect(await firesIn(app(global(ownModule(token)), queue(dataSource)), token)).toBe('fired');
    },
  );

  it('one of a module that only forRootAsync imports', async () => {
    const own = ownModule('DATA_SOURCE');
    const asynchronous = DelayQueueModule.forRootAsync({
      imports: [own],
      dataSource: 'DATA_SOURCE',
      useFactory: () => ({}),
    });
    expect(await firesIn(app(asynchronous), 'DATA_SOURCE')).toBe('fired');
  });
});

describe('a start without the DataSource is refused, and the error says what to do:', () => {
  it('there are only named ones', async () => {
    expect(await refusal(app(typeOrm('jobs'), queue()))).toContain(
      "forRoot({ dataSource: 'jobs' })",
    );
  });

  it('there is none of that name', async () => {
    expect(await refusal(app(typeOrm('jobs'), queue({ dataSource: 'job' })))).toMatch(
      /job is not there.*dataSource: 'jobs'/,
    );
  });

  it('there is none at all, or one that its module keeps to itself', async () => {
    expect(await refusal(app(queue()))).toContain('Import TypeOrmModule.forRoot()');
    const hidden = app(ownModule('DATA_SOURCE'), queue({ dataSource: 'DATA_SOURCE' }));
    expect(await refusal(hidden)).toMatch(/DATA_SOURCE is not there.*@Global\(\)/);
  });

  it('what is provided under the token is something else', async () => {
    @Global()
    @Module({ providers: [{ provide: 'DB', useValue: { url: '' } }], exports: ['DB'] })
    class Wrong {}
    expect(await refusal(app({ module: Wrong }, queue({ dataSource: 'DB' })))).toContain(
      'what is provided as DB is no DataSource of TypeORM',
    );
  });

  it('the option is neither a name nor a token', () => {
    expect(() => queue({ dataSource: 5 as never })).toThrow(/dataSource: must be a name/);
  });
});

describe('another copy of TypeORM in the process', () => {
  class OtherCopy {
    readonly '@instanceof' = Symbol.for('DataSource');
  }
  Object.defineProperty(OtherCopy, 'name', { value: 'DataSource' });

  it.each([
    ['by its class', OtherCopy, undefined],
    ['by a token', 'DB', 'DB'],
  ])('is named at the start, when its DataSource is provided %s', async (_, token, dataSource) => {
    @Global()
    @Module({ providers: [{ provide: token, useClass: OtherCopy }], exports: [token] })
    class Other {}
    const text = await refusal(app({ module: Other }, queue(dataSource ? { dataSource } : {})));
    expect(text).toMatch(/two different copies of typeorm.*npm ls typeorm/);
  });
});
