import {
  type BeforeApplicationShutdown,
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Injectable,
  type InjectionToken,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
  Optional,
  type Type,
} from '@nestjs/common';
import { MetadataScanner, ModuleRef, ModulesContainer } from '@nestjs/core';
import { DelayConfigError } from './core/api/errors.js';
import { DelayEvents } from './core/api/events.js';
import { DelayClient } from './core/client/delay-client.js';
import {
  checkAsyncOptions,
  checkModuleOptions,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
  resolveOptions,
} from './core/config/options.js';
import { DEFAULT_QUEUE, EVENTS, HEALTH, WHEEL } from './core/config/queue-names.js';
import type { DelayQueueOptions } from './core/api/options.js';
import {
  DATA_SOURCE,
  DATA_SOURCE_PROVIDER,
  type DataSourceChoice,
  dataSourceModule,
} from './core/database/chosen-data-source.js';
import { DelayAdmin } from './core/module/delay.admin.js';
import { DelayHealth } from './ops/delay.health.js';
import { DelayLog } from './core/module/delay.log.js';
import { DelayTrace } from './core/module/delay.trace.js';
import { DelayService } from './core/module/delay.service.js';
import { DelayWorker } from './core/module/delay.worker.js';
import { HandlerExplorer } from './core/handlers/handler.explorer.js';
import { Invoker } from './core/handlers/invoker.js';
import { HandlerRegistry } from './core/handlers/handler.registry.js';
import { DISCOVERY, NestEnhancers, ofThisCopy } from './core/handlers/enhancers.js';
import { WheelAlarm } from './core/timer-wheel/wheel-alarm.js';
import { WheelService } from './core/timer-wheel/wheel.service.js';
import { Engine } from './core/engine/engine.js';
import {
  ALL_SERVICES_PROVIDER,
  MARK,
  type Queue,
  queueModules,
  queuesIn,
} from './core/module/queues.js';
import { getDelaysToken } from './core/module/inject-delays.js';
import { FirstModule, LastModule, takePlaces, hearEnds } from './core/module/module-ends.js';

/** Has the option `telemetry` observe this node, from before the first call until it has stopped. */
@Injectable()
class TelemetryStart {
  constructor(
    @Inject(RESOLVED_OPTIONS) { telemetry, nodeName: name }: ResolvedOptions,
    @Inject(EVENTS) events: DelayEvents,
    @Inject(HEALTH) health: DelayHealth,
  ) {
    if (telemetry === undefined) return;
    const off = telemetry.observe({
      name,
      figures: () => health.known(),
      reasons: () => health.knownReasons(),
      refresh: () => health.refresh(),
    });
    events.once('stopped', off);
    events.once('ready', () => {
      const message = telemetry.advice?.();
      if (message !== undefined) events.emit('advice', { message });
    });
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

const EXTRAS: Required<{ [Extra in keyof DelayQueueModuleExtras]: unknown }> = {
  isGlobal: true,
  dataSource: undefined,
  queue: DEFAULT_QUEUE,
};

const CLIENT: FactoryProvider<DelayClient> = {
  provide: DelayClient,
  inject: [DATA_SOURCE, Engine, RESOLVED_OPTIONS, EVENTS],
  useFactory: (...given: ConstructorParameters<typeof DelayClient>) => new DelayClient(...given),
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
      ...(queue === DEFAULT_QUEUE ? {} : named(queue)),
      global: isGlobal,
      imports: [
        ...(definition.imports ?? []),
        dataSourceModule(dataSource, definition.imports),
        FirstModule,
        LastModule,
      ],
      providers: [
        ...(definition.providers ?? []),
        DATA_SOURCE_PROVIDER,
        {
          provide: RESOLVED_OPTIONS,
          inject: [GIVEN_OPTIONS],
          useFactory: (options: DelayQueueOptions) => resolveOptions(options, queue),
        },
        ALL_SERVICES_PROVIDER,
        DISCOVERY,
        MetadataScanner,
        DelayLog,
        DelayTrace,
        Engine,
        CLIENT,
        HandlerExplorer,
        HandlerRegistry,
        Invoker,
        NestEnhancers,
        TelemetryStart,
        WheelAlarm,
        ...SERVICES.map((service) => ({
          provide: getDelaysToken(queue, service),
          useClass: service,
        })),
        { provide: EVENTS, useExisting: getDelaysToken(queue, DelayEvents) },
        { provide: HEALTH, useExisting: getDelaysToken(queue, DelayHealth) },
        { provide: WHEEL, useExisting: getDelaysToken(queue, WheelService) },
      ],
    }),
  )
  .build();

const SERVICES: Type<unknown>[] = [
  DelayService,
  DelayAdmin,
  DelayHealth,
  DelayWorker,
  WheelService,
  DelayEvents,
];

function refuseWithoutForRoot(): never {
  throw new DelayConfigError(
    'DelayQueueModule is imported without forRoot(). Its services are available to all modules after ' +
      'one DelayQueueModule.forRoot() in the root module; with isGlobal: false, let the module ' +
      'that calls forRoot() export DelayQueueModule, and import that one',
  );
}

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
    @Optional() @Inject(WHEEL) private readonly wheel: WheelService,
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
    if (
      queueModules(this.modules).some(({ instance }) => !(instance instanceof DelayQueueModule))
    ) {
      throw new DelayConfigError(
        'two copies of nestjs-delay-queue are imported; `npm ls nestjs-delay-queue` shows them: ' +
          'install one version, once',
      );
    }
    const queues = queuesIn(this.modules).map(({ queue }) => queue);
    // Nest keys dynamic modules by reference: a second forRoot would start a second engine.
    if (queues.indexOf(this.queue) !== queues.lastIndexOf(this.queue)) {
      const which = this.queue === DEFAULT_QUEUE ? '' : `{ queue: '${this.queue}' }`;
      throw new DelayConfigError(
        `DelayQueueModule.forRoot(${which}) was imported twice; import it once, in the root module, ` +
          'or give each a queue, and a schema or database, of its own',
      );
    }
    const twin = queuesIn(this.modules).find((other) => shareTables(this, other));
    if (twin !== undefined) {
      throw new DelayConfigError(
        `DelayQueueModule: the queues '${twin.queue}' and '${this.queue}' have the same tables; ` +
          'give one of them a schema or a database of its own',
      );
    }
    const { engine, wheel } = this;
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

/** By name: what instruments an application wraps its instances. */
const shareTables = (one: Queue, other: Queue): boolean =>
  one.queue !== other.queue &&
  one.get(DATA_SOURCE) === other.get(DATA_SOURCE) &&
  one.get<ResolvedOptions>(RESOLVED_OPTIONS).schema ===
    other.get<ResolvedOptions>(RESOLVED_OPTIONS).schema;

/** A queue with a name. Its services have tokens of their own, so that none replaces the default queue's. */
@Module({ providers: [], exports: [] })
class NamedDelayQueueModule extends DelayQueueModule {}

const named = (queue: string): { module: Type; exports: InjectionToken[] } => ({
  module: NamedDelayQueueModule,
  exports: SERVICES.map((service) => getDelaysToken(queue, service)),
});
