import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DynamicModule,
  Global,
  Injectable,
  Module,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
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
import { fencedHandler } from '../support/delay-node.js';
import { refusedApp } from './engine/support/refused-start.js';
import { Stage } from './engine/support/stage.js';

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

describe('the delays live in the DataSource that is chosen', () => {
  it.each([
    ['the default one', [undefined], undefined, DataSource],
    ['a named one', ['jobs'], 'jobs', 'jobsDataSource'],
    ['a named one beside the default one', [undefined, 'jobs'], 'jobs', 'jobsDataSource'],
  ])('%s of TypeOrmModule', async (_, names, dataSource, token) => {
    const root = app(...names.map(typeOrm), queue(dataSource ? { dataSource } : {}));
    expect(await firesIn(root, token)).toBe('fired');
  });

  it.each([['DATA_SOURCE'], [Symbol('of a test')], [DataSource]])(
    'one that a module of the application provides as %p, without @nestjs/typeorm',
    async (token) => {
      const dataSource = token === DataSource ? {} : { dataSource: token };
      expect(await firesIn(app(global(ownModule(token)), queue(dataSource)), token)).toBe('fired');
    },
  );

  it('one of a module that only forRootAsync imports', async () => {
    const asynchronous = DelayQueueModule.forRootAsync({
      imports: [ownModule('DATA_SOURCE')],
      dataSource: 'DATA_SOURCE',
      useFactory: () => ({}),
    });
    expect(await firesIn(app(asynchronous), 'DATA_SOURCE')).toBe('fired');
  });
});

/** Somewhere in the application, that is provided under the token. */
function providing(token: string | Type, given: { useValue: object } | { useClass: Type }): Type {
  @Global()
  @Module({ providers: [{ provide: token, ...given }], exports: [token] })
  class Provides {}
  return Provides;
}

/** Of another copy of TypeORM, or of this package. */
class OtherCopy {
  readonly '@instanceof' = Symbol.for('DataSource');
}
Object.defineProperty(OtherCopy, 'name', { value: 'DataSource' });

@Module({})
class OtherModule {}
Reflect.set(OtherModule, Symbol.for('nestjs-delay-queue:module'), true);

const COPIES = /two different copies of typeorm.*npm ls typeorm/;

describe('a start is refused, and the error says what to do:', () => {
  it.each<[what: string, says: string | RegExp, root: () => DynamicModule]>([
    [
      'there are only named DataSources',
      "forRoot({ dataSource: 'jobs' })",
      () => app(typeOrm('jobs'), queue()),
    ],
    [
      'there is none of that name',
      /job is not there.*dataSource: 'jobs'/,
      () => app(typeOrm('jobs'), queue({ dataSource: 'job' })),
    ],
    ['there is none at all', 'Import TypeOrmModule.forRoot()', () => app(queue())],
    [
      'its module keeps it to itself',
      /DATA_SOURCE is not there.*@Global\(\)/,
      () => app(ownModule('DATA_SOURCE'), queue({ dataSource: 'DATA_SOURCE' })),
    ],
    [
      'what is provided under the token is something else',
      'what is provided as DB is no DataSource of TypeORM',
      () => app(providing('DB', { useValue: { url: '' } }), queue({ dataSource: 'DB' })),
    ],
    [
      'it is of another copy of TypeORM',
      COPIES,
      () => app(providing(OtherCopy, { useClass: OtherCopy }), queue()),
    ],
    [
      'two copies of this package are in one application',
      'npm ls nestjs-delay-queue',
      () => app(typeOrm(), queue(), OtherModule),
    ],
    [
      'the bare class is imported',
      /imported without forRoot\(\).*export DelayQueueModule/,
      () => app(typeOrm(), ordersModule(DelayQueueModule)),
    ],
  ])('%s', async (_, says, root) => {
    const error = await refusedApp(root());
    expect(error).toBeInstanceOf(DelayConfigError);
    expect((error as Error).message).toMatch(says);
  });

  it('the option is neither a name nor a token', () => {
    expect(() => queue({ dataSource: 5 as never })).toThrow(/dataSource: must be a name/);
  });
});

@Injectable()
class Orders {
  constructor(readonly delays: DelayService) {}
}

function ordersModule(...imports: Type[]): Type {
  @Module({ imports, providers: [Orders] })
  class OrdersModule {}
  return OrdersModule;
}

it('with isGlobal: false those modules get the services that import the one with forRoot', async () => {
  @Module({
    imports: [DelayQueueModule.forRoot({ isGlobal: false })],
    exports: [DelayQueueModule],
  })
  class DelaysModule {}
  const root = app(typeOrm(), ordersModule(DelaysModule));
  const nest = await NestFactory.createApplicationContext(root, { logger: false });
  const { delays } = nest.get(Orders, { strict: false });
  expect(await delays.cancel('test.a', 'nobody')).toEqual({ verdict: 'absent' });
  await nest.close();
});
