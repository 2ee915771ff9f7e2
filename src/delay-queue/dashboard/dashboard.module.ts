import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  type InjectionToken,
  Logger,
  Module,
  type NestModule,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModuleRef } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import type { DataSource } from 'typeorm';
import { DelayConfigError, DelayEvents, printableError } from '../core/index.js';
import {
  DATA_SOURCE,
  DelayAdmin,
  DelayService,
  HandlerRegistry,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../core/ops.js';
import { DelayHealth } from '../ops/delay.health.js';
import { DashboardDatabase } from './dashboard-database.js';
import { DashboardHandler, type HostRequest } from './handler.js';
import { type DelayQueueDashboardOptions, resolveDashboardOptions } from './options.js';
import { builtPage } from './page-files.js';
import { addressBelow } from './path.js';
import { apiRoutes } from './routes.js';

const GIVEN = Symbol('nestjs-delay-queue:dashboard-options');

/** Options of `forRootAsync`: `imports`, `inject`, and `useFactory`, `useClass` or `useExisting`. */
export type DelayQueueDashboardAsyncOptions = ConfigurableModuleAsyncOptions<
  DelayQueueDashboardOptions,
  'createDashboardOptions'
>;

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<DelayQueueDashboardOptions>({
  optionsInjectionToken: GIVEN,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDashboardOptions')
  .build();

/**
 * A dashboard inside the application: find delays, see why one has not fired, and act.
 *
 * ```ts
 * DelayQueueDashboardModule.forRoot({
 *   path: '/delays',
 *   authorize: (request) => adminOf(request) && { who: adminOf(request).email, actions: 'all' },
 * })
 * ```
 *
 * It works on Express and on Fastify, behind whatever the application runs before its routes.
 * Import it beside `DelayQueueModule.forRoot()`.
 */
@Module({})
export class DelayQueueDashboardModule
  extends ConfigurableModuleClass
  implements NestModule, OnModuleDestroy
{
  readonly #closing = new AbortController();
  readonly #log = new Logger('DelayQueueDashboard');
  #database: DashboardDatabase | undefined;

  /**
   * @param options `authorize` is required
   * @throws DelayConfigError which option is wrong, and why
   */
  static override forRoot(options: DelayQueueDashboardOptions): DynamicModule {
    resolveDashboardOptions(options);
    return super.forRoot(options);
  }

  /** @param options the factory returns {@link DelayQueueDashboardOptions} */
  static override forRootAsync(options: DelayQueueDashboardAsyncOptions): DynamicModule {
    return super.forRootAsync(options);
  }

  /** @internal */
  constructor(
    @Inject(GIVEN) private readonly given: DelayQueueDashboardOptions,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
  ) {
    super();
  }

  /** @internal Nest calls it once there is an HTTP server, before any route. */
  configure(): void {
    const dashboard = resolveDashboardOptions(this.given);
    const options = this.#of<ResolvedOptions>(RESOLVED_OPTIONS);
    this.#database = new DashboardDatabase(this.#of<DataSource>(DATA_SOURCE), options);
    const routes = apiRoutes({
      database: this.#database,
      admin: this.#of(DelayAdmin),
      delays: this.#of(DelayService),
      health: this.#of(DelayHealth),
      events: this.#of(DelayEvents),
      handlers: this.#of(HandlerRegistry),
      options,
      dashboard,
      closing: this.#closing.signal,
    });
    const report = (error: unknown): void => this.#log.error(printableError(error));
    const address = addressBelow(dashboard.path, this.#of(ApplicationConfig));
    const handler = new DashboardHandler(dashboard, address, routes, builtPage, report);
    this.#of(HttpAdapterHost).httpAdapter.use(
      (request: HostRequest, response: ServerResponse, next: () => void) => {
        if (!handler.handle(request, response)) next();
      },
    );
  }

  /** @internal */
  async onModuleDestroy(): Promise<void> {
    this.#closing.abort();
    await this.#database?.close();
  }

  #of<Service>(token: InjectionToken<Service>): Service {
    try {
      return this.modules.get(token, { strict: false });
    } catch {
      throw new DelayConfigError(
        'DelayQueueDashboardModule: there is no DelayQueueModule.forRoot() in the application: import it, too',
      );
    }
  }
}
