import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type NestModule,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModuleRef, ModulesContainer } from '@nestjs/core';
import type { ServerResponse } from 'node:http';
import type { DataSource } from 'typeorm';
import { DelayConfigError, DelayEvents, printableError } from '../core/index.js';
import {
  DATA_SOURCE,
  DEFAULT_QUEUE,
  DelayAdmin,
  DelayService,
  getDelaysToken,
  HandlerRegistry,
  type Queue,
  queuesIn,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../core/ops.js';
import { DelayHealth } from '../ops/delay.health.js';
import type { Session } from './contract.js';
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
  readonly #databases: DashboardDatabase[] = [];

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
    const { path } = resolveDashboardOptions(this.given);
    const address = addressBelow(path, this.modules.get(ApplicationConfig, { strict: false }));
    const queues = queuesIn(this.modules.get(ModulesContainer, { strict: false }));
    const main = queues.find(({ queue }) => queue === DEFAULT_QUEUE) ?? queues[0];
    if (main === undefined) {
      throw new DelayConfigError(
        'DelayQueueDashboardModule: there is no DelayQueueModule.forRoot() in the application: import it, too',
      );
    }
    const others = queues.filter((queue) => queue !== main);
    this.#show(main, { path, address }, [
      { name: main.queue, href: './', isShown: true },
      ...others.map(({ queue }) => ({ name: queue, href: `queue/${queue}/`, isShown: false })),
    ]);
    for (const other of others) {
      const below = `/queue/${other.queue}`;
      this.#show(other, { path: path + below, address: address + below }, [
        { name: main.queue, href: '../../', isShown: false },
        ...others.map((each) => ({
          name: each.queue,
          href: `../${each.queue}/`,
          isShown: each === other,
        })),
      ]);
    }
  }

  /** @param at `address`: on the HTTP server */
  #show(queue: Queue, at: { path: string; address: string }, queues: Session['queues']): void {
    const dashboard = { ...resolveDashboardOptions(this.given, queue.queue), path: at.path };
    const options = queue.get<ResolvedOptions>(RESOLVED_OPTIONS);
    const database = new DashboardDatabase(queue.get<DataSource>(DATA_SOURCE), options);
    this.#databases.push(database);
    const serviceOf = <Service>(service: Type<Service>): Service =>
      queue.get(getDelaysToken(queue.queue, service));
    const routes = apiRoutes({
      database,
      admin: serviceOf(DelayAdmin),
      delays: serviceOf(DelayService),
      health: serviceOf(DelayHealth),
      events: serviceOf(DelayEvents),
      handlers: queue.get(HandlerRegistry),
      options,
      dashboard,
      queues: queues.length === 1 ? [] : queues,
      closing: this.#closing.signal,
    });
    const report = (error: unknown): void => this.#log.error(printableError(error));
    const handler = new DashboardHandler(dashboard, at.address, routes, builtPage, report);
    this.modules
      .get(HttpAdapterHost, { strict: false })
      .httpAdapter.use((request: HostRequest, response: ServerResponse, next: () => void) => {
        if (!handler.handle(request, response)) next();
      });
  }

  /** @internal */
  async onModuleDestroy(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#databases.map((each) => each.close()));
  }
}
