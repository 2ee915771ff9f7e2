import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  type DynamicModule,
  Global,
  type INestApplicationContext,
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
function ownModule(token: Token): DynamicModule {
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

const start = (root: DynamicModule): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });

type Token = string | symbol | typeof DataSource;

const DATA_SOURCE = Symbol('of a test');

/** As a name of TypeOrmModule, as a module of the application provides it, or only for forRootAsync. */
it.each<[what: string, token: Token, root: () => DynamicModule]>([
  ['the default one', DataSource, () => app(typeOrm(), queue())],
  ['a named one', 'jobsDataSource', () => app(typeOrm('jobs'), queue({ dataSource: 'jobs' }))],
  [
    'a named one beside the default one',
    'jobsDataSource',
    () => app(typeOrm(), typeOrm('jobs'), queue({ dataSource: 'jobs' })),
  ],
  [
    'one under a name of its own, without @nestjs/typeorm',
    'DATA_SOURCE',
    () => app(global(ownModule('DATA_SOURCE')), queue({ dataSource: 'DATA_SOURCE' })),
  ],
  [
    'one under a symbol',
    DATA_SOURCE,
    () => app(global(ownModule(DATA_SOURCE)), queue({ dataSource: DATA_SOURCE })),
  ],
  ['one under its class', DataSource, () => app(global(ownModule(DataSource)), queue())],
  [
    'one of a module that only forRootAsync imports',
    'DATA_SOURCE',
    () =>
      app(
        DelayQueueModule.forRootAsync({
          imports: [ownModule('DATA_SOURCE')],
          dataSource: 'DATA_SOURCE',
          useFactory: () => ({}),
        }),
      ),
  ],
])('the delays live in the DataSource that is chosen: %s', async (_, token, root) => {
  const nest = await start(root());
  const completed = new Promise((resolve) => nest.get(DelayEvents).once('completed', resolve));
  const delays = nest.get(DelayService, { strict: false });
  await nest
    .get<DataSource>(token, { strict: false })
    .transaction((manager) => delays.schedule('test.fenced', 1, { after: 0, manager }));
  expect(await completed).toMatchObject({ name: 'test.fenced' });
  await nest.close();
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

it.each<[what: string, says: string | RegExp, root: () => DynamicModule]>([
  [
    'there are only named DataSources',
    "forRoot({ dataSource: 'jobs' })",
    () => app(typeOrm('jobs'), queue()),
  ],
  [
    'there is none of that name',
    /job was not found.*dataSource: 'jobs'/,
    () => app(typeOrm('jobs'), queue({ dataSource: 'job' })),
  ],
  [
    'there is none at all',
    /forRoot\({ connection: .*TypeOrmModule.forRoot\(\)/,
    () => app(queue()),
  ],
  [
    'its module keeps it to itself',
    /DATA_SOURCE was not found.*@Global\(\)/,
    () => app(ownModule('DATA_SOURCE'), queue({ dataSource: 'DATA_SOURCE' })),
  ],
  [
    'what is provided under the token is something else',
    'what is provided as DB is not a DataSource of TypeORM',
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
])('a start is refused, and the error says what to do: %s', async (_, says, root) => {
  const error = await refusedApp(root());
  expect(error).toBeInstanceOf(DelayConfigError);
  expect((error as Error).message).toMatch(says);
});

it('an option that is neither a name nor a token is refused', () => {
  expect(() => queue({ dataSource: 5 as never })).toThrow(/dataSource: must be a name/);
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
  const nest = await start(root);
  const { delays } = nest.get(Orders, { strict: false });
  expect(await delays.cancel('test.a', 'nobody')).toEqual({ verdict: 'absent' });
  await nest.close();
});
