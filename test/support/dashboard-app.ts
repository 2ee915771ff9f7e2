import { type DynamicModule, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DelayAdmin, DelayEvents, DelayService } from 'nestjs-delay-queue';
import {
  DelayQueueDashboardModule,
  type DelayQueueDashboardOptions,
} from 'nestjs-delay-queue/dashboard';
import { DataSource } from 'typeorm';
import { BODY_TYPE, CHANGE_HEADER } from '../../src/delay-queue/dashboard/contract.js';
import { appModule, type NodeSetup } from './delay-node.js';

@Module({})
class DashboardAppModule {}

export interface DashboardSetup extends NodeSetup {
  /** Default: a viewer who may do all. */
  dashboard?: Partial<DelayQueueDashboardOptions>;
  /** In the place of one made of `dashboard`. */
  module?: DynamicModule;
  server?: 'express' | 'fastify' | FastifyAdapter;
  /** `false`: the application parses no bodies. */
  bodyParser?: false;
  /** Default: any that is free. */
  port?: number;
  /** Closes what a browser opens ahead of its requests, which Node.js waits a minute for. */
  forceCloseConnections?: true;
  /** Before it listens. */
  prepare?: (app: INestApplication) => void;
}

/** What an address of the dashboard answered. */
export interface Answer<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

/** An application with a queue, its dashboard and an HTTP server on 127.0.0.1. */
export class DashboardApp {
  private constructor(
    readonly app: INestApplication,
    /** Of the dashboard, with a slash at its end. */
    readonly url: string,
  ) {}

  static async start({
    dashboard,
    module,
    server = 'express',
    port: wanted = 0,
    prepare,
    bodyParser,
    forceCloseConnections,
    ...setup
  }: DashboardSetup): Promise<DashboardApp> {
    const root: DynamicModule = {
      module: DashboardAppModule,
      imports: [
        appModule(setup),
        module ??
          DelayQueueDashboardModule.forRoot({
            authorize: () => ({ who: 'tester', actions: 'all' }),
            ...dashboard,
          }),
      ],
    };
    const own = server === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    const adapter = typeof server === 'string' ? own : server;
    const app = await NestFactory.create(root, adapter, {
      logger: setup.logger ?? false,
      abortOnError: false,
      ...(bodyParser === false && { bodyParser }),
      ...(forceCloseConnections && { forceCloseConnections }),
    });
    prepare?.(app);
    await app.listen(wanted, '127.0.0.1');
    const { port } = app.getHttpServer().address() as { port: number };
    const path = dashboard?.path ?? '/delays';
    return new DashboardApp(app, `http://127.0.0.1:${port}${path}/`);
  }

  get delays(): DelayService {
    return this.app.get(DelayService);
  }

  get admin(): DelayAdmin {
    return this.app.get(DelayAdmin);
  }

  get events(): DelayEvents {
    return this.app.get(DelayEvents);
  }

  get dataSource(): DataSource {
    return this.app.get(DataSource);
  }

  /** @param path such as `api/session` */
  async get<Body>(path: string, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return answered<Body>(await fetch(new URL(path, this.url), { headers, redirect: 'manual' }));
  }

  /** As the page does; `headers` replace those of the page. */
  async post<Body>(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const ofPage = { 'content-type': BODY_TYPE, [CHANGE_HEADER]: '1' };
    return answered<Body>(
      await fetch(new URL(path, this.url), {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { ...ofPage, ...headers },
      }),
    );
  }

  stop(): Promise<void> {
    return this.app.close();
  }
}

async function answered<Body>(response: Response): Promise<Answer<Body>> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  const body = (isJson ? JSON.parse(text) : text) as Body;
  return { status: response.status, headers: response.headers, body };
}
