import {
  type BeforeApplicationShutdown,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { type DelayQueueOptions, RESOLVED_OPTIONS, resolveOptions } from './delay-queue.options.js';
import { DelayConfigError } from './delay.errors.js';
import { DelayEvents } from './delay.events.js';
import { DelayLog } from './delay.log.js';
import { DelayService } from './delay.service.js';
import { Engine } from './engine/engine.js';
import { HandlerExplorer } from './handlers/handler.explorer.js';
import { HandlerRegistry } from './handlers/handler.registry.js';
import { WheelAlarm } from './wheel/wheel-alarm.js';
import { WheelService } from './wheel/wheel.service.js';

/** What `useClass` and `useExisting` of `forRootAsync` implement. */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions(): DelayQueueOptions | Promise<DelayQueueOptions>;
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<DelayQueueOptions>({
    optionsInjectionToken: 'nestjs-delay-queue:given-options',
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createDelayQueueOptions')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({
      ...definition,
      global: isGlobal,
    }))
    .build();

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
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: RESOLVED_OPTIONS,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: DelayQueueOptions) => resolveOptions(options),
    },
    DelayEvents,
    DelayLog,
    DelayService,
    Engine,
    HandlerExplorer,
    HandlerRegistry,
    WheelAlarm,
    WheelService,
  ],
  exports: [DelayService, WheelService, DelayEvents],
})
export class DelayQueueModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown
{
  /** @param options all optional; beside them `isGlobal`, default true */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    return super.forRoot(options);
  }

  constructor(
    private readonly modules: ModulesContainer,
    private readonly explorer: HandlerExplorer,
    private readonly engine: Engine,
  ) {
    super();
  }

  onModuleInit(): void {
    // Nest keys dynamic modules by reference: a second forRoot would start a second engine.
    const count = [...this.modules.values()].filter(
      (module) => module.metatype === DelayQueueModule,
    ).length;
    if (count > 1) {
      throw new DelayConfigError(
        'DelayQueueModule.forRoot() was imported twice; import it once, in the root module',
      );
    }
    this.explorer.explore();
  }

  onApplicationBootstrap(): Promise<void> {
    return this.engine.start();
  }

  /** Here and not in a later hook: TypeORM closes its DataSource in `onApplicationShutdown`. */
  beforeApplicationShutdown(): Promise<void> {
    return this.engine.stop();
  }
}
