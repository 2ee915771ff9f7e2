import type { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from '@jest/globals';
import type { DynamicModule, InjectionToken } from '@nestjs/common';
import {
  type AroundFunction,
  type BackoffFunction,
  type ClsTransactionHost,
  type BackoffOptions,
  type DataSourceChoice,
  type DelayAround,
  type DelayEnhancers,
  type DelayHistoryOptions,
  DelayQueueModule,
  type DelayQueueModuleAsyncOptions,
  type DelayQueueModuleExtras,
  type DelayQueueModuleOptions,
  type DelayQueueOptions,
  type DelayQueueOptionsFactory,
  DelayAdmin,
  delayQueueMigrations,
  DelayService,
  type Duration,
  getDelaysToken,
  InjectDelays,
  joinTransaction,
  joinTransactionHost,
  type MigrationClass,
  type QueueChoice,
  runMigrations,
  WHEEL_CAPACITY,
  type WheelService,
  type WheelTimer,
} from 'nestjs-delay-queue';
import { DataSource, type EntityManager, type MigrationInterface } from 'typeorm';
import { fits, same } from '../../support/same-type.js';

class Configured implements DelayQueueOptionsFactory {
  createDelayQueueOptions(): DelayQueueOptions {
    return { lease: '1m' };
  }
}

function modules() {
  fits<DynamicModule>(DelayQueueModule.forRoot());
  DelayQueueModule.forRoot({ concurrency: 5, isGlobal: false, dataSource: DataSource });
  // @ts-expect-error -- a misspelt option
  DelayQueueModule.forRoot({ concurency: 5 });
  // @ts-expect-error -- of another type
  DelayQueueModule.forRoot({ concurrency: '5' });
  // @ts-expect-error -- what is found out at start has forRootAsync
  DelayQueueModule.forRoot(Promise.resolve({}));
  same<DelayQueueModuleOptions, DelayQueueOptions & DelayQueueModuleExtras>(true);
  same<
    DelayQueueModuleExtras,
    { isGlobal?: boolean; dataSource?: DataSourceChoice; queue?: string }
  >(true);
  fits<DataSourceChoice[]>(['timers', Symbol('timers'), DataSource]);
  // @ts-expect-error -- no token
  fits<DataSourceChoice>(5);

  DelayQueueModule.forRootAsync({ useFactory: () => ({ lease: '1m' }), isGlobal: false });
  const useFactory = async (given: Configured) => given.createDelayQueueOptions();
  DelayQueueModule.forRootAsync({ inject: [Configured], useFactory });
  DelayQueueModule.forRootAsync({ useClass: Configured, dataSource: 'timers' });
  fits<DelayQueueModuleAsyncOptions>({ useExisting: Configured });
  // @ts-expect-error -- nothing makes them
  DelayQueueModule.forRootAsync();
  // @ts-expect-error -- an option of another type
  DelayQueueModule.forRootAsync({ useFactory: () => ({ lease: true }) });
  // @ts-expect-error -- it makes none
  DelayQueueModule.forRootAsync({ useClass: DelayQueueModule });
  // @ts-expect-error -- they stand in what the factory answers
  fits<DelayQueueModuleAsyncOptions>({ useClass: Configured, lease: '1m' });
  // @ts-expect-error -- options, or a promise of them
  fits<DelayQueueOptionsFactory>({ createDelayQueueOptions: () => 'lease' });
}

function queues() {
  DelayQueueModule.forRoot({ queue: 'eu', connection: 'postgresql://eu' });
  DelayQueueModule.forRootAsync({ queue: 'eu', useFactory: () => ({}) });
  // @ts-expect-error -- a name
  DelayQueueModule.forRoot({ queue: ['eu', 'us'] });
  same<QueueChoice, { queue?: string | readonly string[] }>(true);
  fits<InjectionToken<DelayService>>(getDelaysToken('eu'));
  fits<InjectionToken<DelayAdmin>>(getDelaysToken('eu', DelayAdmin));
  // @ts-expect-error -- a service, not its name
  getDelaysToken('eu', 'DelayAdmin');
  fits<ParameterDecorator>(InjectDelays('eu', DelayAdmin));
  // @ts-expect-error -- the name of a queue
  InjectDelays(DelayAdmin);
}

function options() {
  same<DelayQueueOptions['worker'], boolean | 'manual' | undefined>(true);
  same<DelayQueueOptions['autorun'], boolean | undefined>(true);
  same<DelayQueueOptions['connections'], number | undefined>(true);
  same<DelayQueueOptions['around'], DelayAround | readonly DelayAround[] | undefined>(true);
  same<DelayQueueOptions['enhancers'], DelayEnhancers | undefined>(true);
  fits<DelayQueueOptions>({ schema: 'timers', history: { keep: '7d', attempts: true } });
  fits<DelayQueueOptions>({ history: false, resolveManager: () => undefined });
  fits<DelayQueueOptions>({ resolveManager: () => ({ query: async () => [] }) });
  same<DelayHistoryOptions['keep'], Duration | undefined>(true);
  fits<DelayQueueOptions>({ history: { names: { 'test.plain': '1d' } } });
  // @ts-expect-error -- for how long?
  fits<DelayQueueOptions>({ history: true });
  // @ts-expect-error -- a manager, or none
  fits<DelayQueueOptions>({ resolveManager: () => null });
  type Backoff = { base?: Duration; factor?: number; max?: Duration; jitter?: number };
  same<BackoffOptions, Backoff>(true);
  // At once, and no promise of it.
  same<BackoffFunction, (attempt: number) => Duration>(true);
}

async function tables(dataSource: DataSource) {
  await runMigrations(dataSource);
  await runMigrations('postgresql://here', { schema: 'a', wait: '1s' });
  await runMigrations({ connectionString: 'postgresql://here' });
  // @ts-expect-error -- a port alone
  await runMigrations(5432);
  fits<MigrationClass[]>([...delayQueueMigrations(), ...delayQueueMigrations({ schema: 'a' })]);
  // @ts-expect-error -- an object
  delayQueueMigrations('timers');
  same<MigrationClass, new () => MigrationInterface>(true);
}

function joins(host: ClsTransactionHost, storage: AsyncLocalStorage<EntityManager>) {
  fits<AroundFunction>(joinTransactionHost(host));
  fits<AroundFunction>(joinTransaction((manager, next) => storage.run(manager, next)));
  // @ts-expect-error -- a manager is no host
  joinTransactionHost(new DataSource({ type: 'postgres' }).manager);
  // @ts-expect-error -- a host opens no context
  joinTransaction(host);
  same<ClsTransactionHost, { readonly tx: unknown }>(true);
}

function timers(wheel: WheelService) {
  fits<boolean>(wheel.cancel(wheel.after('30s', () => {})));
  // @ts-expect-error -- nothing to do
  wheel.after('30s');
  // @ts-expect-error -- its number alone is no timer
  wheel.cancel(7);
  fits<number>(wheel.nowMs());
  // @ts-expect-error -- monotonic, and no instant
  wheel.nowMs().getTime();
  same<WheelTimer, { readonly id: number }>(true);
  fits<symbol>(WHEEL_CAPACITY);
  // @ts-expect-error -- a token of its own
  fits<string>(WHEEL_CAPACITY);
}

it('what the module, the migrations and the wheel take, by `tsc`', () => {
  expect([modules, queues, options, tables, joins, timers]).toBeDefined();
});
