import {
  type BeforeApplicationShutdown,
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  type InjectionToken,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
  Optional,
  type Type,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { DelayConfigError } from './core/api/errors.js';
import type { DelayQueueOptions } from './core/api/options.js';
import {
  checkAsyncOptions,
  checkModuleOptions,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from './core/config/options.js';
import { DEFAULT_QUEUE, WHEEL } from './core/config/queue-names.js';
import { type DataSourceChoice, dataSourceModule } from './core/database/chosen-data-source.js';
import { Engine } from './core/engine/engine.js';
import { ofThisCopy } from './core/handlers/enhancers.js';
import { HandlerExplorer } from './core/handlers/handler.explorer.js';
import { getDelaysToken } from './core/module/inject-delays.js';
import { FirstModule, hearEnds, LastModule, takePlaces } from './core/module/module-ends.js';
import { checkQueues, MARK } from './core/module/queues.js';
import type { WheelService } from './core/timer-wheel/wheel.service.js';
import { queueProviders, SERVICES } from './queue-providers.js';

const EXTRAS: Required<{ [Extra in keyof DelayQueueModuleExtras]: unknown }> = {
  isGlobal: true,
  dataSource: undefined,
  queue: DEFAULT_QUEUE,
};

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<DelayQueueOptions>({
  optionsInjectionToken: GIVEN_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras(
    EXTRAS as DelayQueueModuleExtras,
    (definition, { isGlobal = true, dataSource, queue = DEFAULT_QUEUE }) => ({
      ...definition,
      ...(queue === DEFAULT_QUEUE ? {} : namedModule(queue)),
      global: isGlobal,
      imports: [
        ...(definition.imports ?? []),
        dataSourceModule(dataSource, definition.imports),
        FirstModule,
        LastModule,
      ],
      providers: [...(definition.providers ?? []), ...queueProviders(queue)],
    }),
  )
  .build();

/**
 * Durable delays in the application's own Postgres. Import it once; it is global by default.
 *
 * ```ts
 * @Module({
 *   imports: [
 *     TypeOrmModule.forRoot({ type: 'postgres', migrations: [...delayQueueMigrations()] }),
 *     DelayQueueModule.forRoot(),
 *   ],
 * })
 * export class AppModule {}
 * ```
 */
// The providers of forRoot replace these.
@Module({
  providers: SERVICES.map((provide) => ({ provide, useFactory: refuseWithoutForRoot })),
  exports: SERVICES,
})
export class DelayQueueModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown
{
  /** @internal */
  static readonly [MARK] = true;

  /** @param options all optional, with `isGlobal` and `dataSource` among them */
  static override forRoot(options: DelayQueueModuleOptions = {}): DynamicModule {
    checkModuleOptions(options);
    return super.forRoot(options);
  }

  /** `isGlobal` and `dataSource` go beside the factory, which returns {@link DelayQueueOptions}. */
  static override forRootAsync(options: DelayQueueModuleAsyncOptions): DynamicModule {
    checkAsyncOptions(options);
    return super.forRootAsync(options);
  }

  /** @internal For Nest: its parameters would pull the engine into the type declarations. */
  constructor(
    @Optional() private readonly modules: ModulesContainer,
    @Optional() private readonly explorer: HandlerExplorer,
    @Optional() private readonly engine: Engine,
    @Optional() private readonly moduleRef: ModuleRef,
    @Optional() @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    super();
    if (engine === undefined) refuseWithoutForRoot();
    takePlaces(ofThisCopy(modules));
  }

  /** @internal */
  get queue(): string {
    return this.options.queue;
  }

  /** @internal */
  get<Service>(token: InjectionToken<Service>): Service {
    return this.moduleRef.get(token, { strict: true });
  }

  async onModuleInit(): Promise<void> {
    const queues = checkQueues(this.modules, this, (one) => one instanceof DelayQueueModule);
    const { engine } = this;
    const wheel = this.get<WheelService>(WHEEL);
    engine.hooksAreCalled();
    hearEnds(this.modules, {
      bootstrapped: () => engine.bootstrapped(),
      closing: async () => {
        wheel.beforeApplicationShutdown();
        // `beforeApplicationShutdown` reports the failure. An error here would make Nest skip later
        // hooks.
        await engine.close().catch(() => {});
      },
    });
    await this.explorer.explore(queues);
  }

  onApplicationBootstrap(): Promise<void> {
    return this.engine.start();
  }

  /** Not in a later hook: TypeORM closes its DataSource in `onApplicationShutdown`. */
  beforeApplicationShutdown(): Promise<void> {
    return this.engine.stop();
  }
}

/** Implemented by the `useClass` and `useExisting` of `forRootAsync`. */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions(): DelayQueueOptions | Promise<DelayQueueOptions>;
}

/** Options of the module itself, beside those of the queue. */
export interface DelayQueueModuleExtras {
  /** `false`: only modules that import the one with `forRoot` get its services. Default `true`. */
  isGlobal?: boolean;
  /**
   * DataSource of the delays: a name from `TypeOrmModule.forRoot({ name })`, or an injection token.
   * Default: the application's default DataSource.
   */
  dataSource?: DataSourceChoice;
  /**
   * Name of the queue, for applications with several: each `forRoot` has its own tables. Handlers choose
   * by `@OnDelay(name, { queue })`, callers by `@InjectDelays(queue)`. Default `'default'`, whose
   * services are injected by their class.
   */
  queue?: string;
}

/** Options of `forRoot`. */
export type DelayQueueModuleOptions = DelayQueueOptions & DelayQueueModuleExtras;

/** Options of `forRootAsync`: `imports`, `inject`; `useFactory`, `useClass` or `useExisting`. */
export type DelayQueueModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  DelayQueueOptions,
  'createDelayQueueOptions'
> &
  DelayQueueModuleExtras;

function refuseWithoutForRoot(): never {
  throw new DelayConfigError(
    'DelayQueueModule is imported without forRoot(). Its services are available to all modules after ' +
      'one DelayQueueModule.forRoot() in the root module; with isGlobal: false, let the module ' +
      'that calls forRoot() export DelayQueueModule, and import that one',
  );
}

/** A queue with a name. Its services have tokens of their own, so that none replaces the default queue's. */
@Module({ providers: [], exports: [] })
class NamedDelayQueueModule extends DelayQueueModule {}

const namedModule = (queue: string): { module: Type; exports: InjectionToken[] } => ({
  module: NamedDelayQueueModule,
  exports: SERVICES.map((service) => getDelaysToken(queue, service)),
});
