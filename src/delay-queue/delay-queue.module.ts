import {
  type BeforeApplicationShutdown,
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import {
  DATA_SOURCE,
  type DataSourceChoice,
  dataSourceProvider,
} from './database/chosen-data-source.js';
import {
  type DelayQueueOptions,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
} from './options/delay-queue.options.js';
import { checkAsyncOptions, checkModuleOptions } from './options/module-options.js';
import { resolveOptions } from './options/resolve-options.js';
import { DelayConfigError } from './delay/delay.errors.js';
import { DelayEvents } from './delay/delay.events.js';
import { DelayAdmin } from './delay.admin.js';
import { DelayLog } from './delay.log.js';
import { DelayService } from './delay.service.js';
import { DelayTrace } from './delay.trace.js';
import { DelayWorker } from './delay.worker.js';
import { Engine } from './runtime/engine.js';
import { FirstModule, hearEnds, LastModule, takePlaces } from './runtime/hook-order.js';
import { ListedTasks } from './runtime/listed-tasks.js';
import { HandlerExplorer } from './handlers/handler.explorer.js';
import { HandlerRegistry } from './handlers/handler.registry.js';
import { Invoker } from './handlers/invocation/invoker.js';
import { DISCOVERY, ofThisCopy } from './handlers/invocation/nest-core.js';
import { NestEnhancers } from './handlers/invocation/nest-enhancers.js';
import { Producer } from './producer/producer.js';
import { WheelAlarm } from './wheel/wheel-alarm.js';
import { WheelService } from './wheel/wheel.service.js';

/** By a text: another copy of this package has another class. */
const MARK = Symbol.for('nestjs-delay-queue:module');

/** What `useClass` and `useExisting` of `forRootAsync` implement. */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions(): DelayQueueOptions | Promise<DelayQueueOptions>;
}

/** Where the module stands in the application, beside the options of the queue itself. */
export interface DelayQueueModuleExtras {
  /** `false`: only modules that import the one with `forRoot` see its services. Default `true`. */
  isGlobal?: boolean;
  /**
   * The DataSource that the delays live in: its name in `TypeOrmModule.forRoot({ name })`, or the
   * token under which it is provided. Default: the application's default DataSource.
   */
  dataSource?: DataSourceChoice;
}

/** What `forRoot` takes. */
export type DelayQueueModuleOptions = DelayQueueOptions & DelayQueueModuleExtras;

/** What `forRootAsync` takes: `imports`, `inject`, and one of `useFactory`, `useClass`, `useExisting`. */
export type DelayQueueModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  DelayQueueOptions,
  'createDelayQueueOptions'
> &
  DelayQueueModuleExtras;

const EXTRAS: Required<{ [Extra in keyof DelayQueueModuleExtras]: unknown }> = {
  isGlobal: true,
  dataSource: undefined,
};

const PRODUCER: FactoryProvider<Producer> = {
  provide: Producer,
  inject: [DATA_SOURCE, Engine, RESOLVED_OPTIONS, DelayTrace],
  useFactory: (...given: ConstructorParameters<typeof Producer>) => new Producer(...given),
};

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<DelayQueueOptions>({
  optionsInjectionToken: GIVEN_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras(EXTRAS as DelayQueueModuleExtras, (definition, { isGlobal = true, dataSource }) => ({
    ...definition,
    global: isGlobal,
    imports: [...(definition.imports ?? []), FirstModule, LastModule],
    providers: [
      ...(definition.providers ?? []),
      dataSourceProvider(dataSource),
      {
        provide: RESOLVED_OPTIONS,
        inject: [GIVEN_OPTIONS],
        useFactory: (options: DelayQueueOptions) => resolveOptions(options),
      },
      DISCOVERY,
      MetadataScanner,
      DelayAdmin,
      DelayEvents,
      DelayLog,
      DelayService,
      DelayTrace,
      DelayWorker,
      Engine,
      PRODUCER,
      HandlerExplorer,
      HandlerRegistry,
      Invoker,
      ListedTasks,
      NestEnhancers,
      WheelAlarm,
      WheelService,
    ],
  }))
  .build();

const SERVICES = [DelayService, DelayAdmin, DelayWorker, WheelService, DelayEvents];

function refuseWithoutForRoot(): never {
  throw new DelayConfigError(
    'DelayQueueModule is imported without forRoot(). Its services are there for all modules after ' +
      'one DelayQueueModule.forRoot() in the root module; with isGlobal: false, let the module ' +
      'that calls forRoot() export DelayQueueModule, and import that one',
  );
}

/**
 * Durable delays on the application's own Postgres. Imported once; global by default.
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
// What forRoot provides takes the places of these.
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

  /** @param options all optional; beside them `isGlobal` and `dataSource` */
  static override forRoot(options: DelayQueueModuleOptions = {}): DynamicModule {
    checkModuleOptions(options);
    return super.forRoot(options);
  }

  /** `isGlobal` and `dataSource` stand beside the factory, which answers {@link DelayQueueOptions}. */
  static override forRootAsync(options: DelayQueueModuleAsyncOptions): DynamicModule {
    checkAsyncOptions(options);
    return super.forRootAsync(options);
  }

  /** @internal Nest's to call: its parameters would lead the declarations into the engine. */
  constructor(
    @Optional() private readonly modules: ModulesContainer,
    @Optional() private readonly explorer: HandlerExplorer,
    @Optional() private readonly engine: Engine,
    @Optional() private readonly wheel: WheelService,
  ) {
    super();
    if (engine === undefined) refuseWithoutForRoot();
    takePlaces(ofThisCopy(modules));
  }

  async onModuleInit(): Promise<void> {
    // Nest keys dynamic modules by reference: a second forRoot would start a second engine.
    const ours = [...this.modules.values()].filter(({ metatype }) => Reflect.has(metatype, MARK));
    if (ours.some(({ metatype }) => metatype !== DelayQueueModule)) {
      throw new DelayConfigError(
        'two copies of nestjs-delay-queue are imported; `npm ls nestjs-delay-queue` shows them: ' +
          'install one version, once',
      );
    }
    if (ours.length > 1) {
      throw new DelayConfigError(
        'DelayQueueModule.forRoot() was imported twice; import it once, in the root module',
      );
    }
    const { engine, wheel } = this;
    engine.hooksAreCalled();
    hearEnds(this.modules, {
      bootstrapped: () => engine.bootstrapped(),
      closing: async () => {
        wheel.beforeApplicationShutdown();
        // Whatever went wrong is told by `beforeApplicationShutdown`: Nest would skip all hooks that follow.
        await engine.close().catch(() => {});
      },
    });
    await this.explorer.explore();
  }

  onApplicationBootstrap(): Promise<void> {
    return this.engine.start();
  }

  /** Here and not in a later hook: TypeORM closes its DataSource in `onApplicationShutdown`. */
  beforeApplicationShutdown(): Promise<void> {
    return this.engine.stop();
  }
}
