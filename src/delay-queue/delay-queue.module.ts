import {
  type BeforeApplicationShutdown,
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { DelayConfigError } from './core/api/errors.js';
import { DelayEvents } from './core/api/events.js';
import { DelayClient } from './core/client/delay-client.js';
import {
  checkAsyncOptions,
  checkModuleOptions,
  type DelayQueueOptions,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from './core/config/options.js';
import { resolveOptions } from './core/config/resolve-options.js';
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
import { FirstModule, LastModule, takePlaces, hearEnds } from './core/module/module-ends.js';

/** Has the option `telemetry` observe this node, from before the first call until it has stopped. */
@Injectable()
class TelemetryStart {
  constructor(
    @Inject(RESOLVED_OPTIONS) { telemetry, nodeName: name }: ResolvedOptions,
    events: DelayEvents,
    health: DelayHealth,
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

/** A text: another copy of this package has another class. */
const MARK = Symbol.for('nestjs-delay-queue:module');

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
};

const CLIENT: FactoryProvider<DelayClient> = {
  provide: DelayClient,
  inject: [DATA_SOURCE, Engine, RESOLVED_OPTIONS, DelayEvents],
  useFactory: (...given: ConstructorParameters<typeof DelayClient>) => new DelayClient(...given),
};

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<DelayQueueOptions>({
  optionsInjectionToken: GIVEN_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras(EXTRAS as DelayQueueModuleExtras, (definition, { isGlobal = true, dataSource }) => ({
    ...definition,
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
        useFactory: (options: DelayQueueOptions) => resolveOptions(options),
      },
      DISCOVERY,
      MetadataScanner,
      DelayAdmin,
      DelayEvents,
      DelayHealth,
      DelayLog,
      DelayService,
      DelayTrace,
      DelayWorker,
      Engine,
      CLIENT,
      HandlerExplorer,
      HandlerRegistry,
      Invoker,
      NestEnhancers,
      TelemetryStart,
      WheelAlarm,
      WheelService,
    ],
  }))
  .build();

const SERVICES = [DelayService, DelayAdmin, DelayHealth, DelayWorker, WheelService, DelayEvents];

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
        // `beforeApplicationShutdown` reports the failure. An error here would make Nest skip later
        // hooks.
        await engine.close().catch(() => {});
      },
    });
    await this.explorer.explore();
  }

  onApplicationBootstrap(): Promise<void> {
    return this.engine.start();
  }

  /** Not in a later hook: TypeORM closes its DataSource in `onApplicationShutdown`. */
  beforeApplicationShutdown(): Promise<void> {
    return this.engine.stop();
  }
}
