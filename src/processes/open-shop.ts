import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { runMigrations } from 'nestjs-delay-queue';
import { once } from 'node:events';
import { DataSource } from 'typeorm';
import { AppModule, databaseOptions } from '../app.module.js';
import { configureHttp } from '../shop/http/configure-http.js';
import type { Processes } from '../shop/processes/processes.js';
import type { ListenConfig, ShopConfig } from '../shop/shop.config.js';

export interface OpenShop {
  app: NestExpressApplication;
  /** Differs from the requested port if that was 0. */
  port: number;
}

/** Migrates the database (safe in several processes at once) and listens. */
export async function openShop(
  config: ShopConfig & ListenConfig,
  processes: Processes,
  logger: LoggerService,
): Promise<OpenShop> {
  await migrate(config.databaseUrl);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, processes),
    { bodyParser: false, abortOnError: false, logger },
  );
  try {
    configureHttp(app);
    await app.init();
    return { app, port: await listen(app, config) };
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function migrate(url: string): Promise<void> {
  const dataSource = await new DataSource(databaseOptions(url)).initialize();
  try {
    await runMigrations(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Not app.listen(), which logs a port in use before it throws. */
async function listen(app: NestExpressApplication, { host, port }: ListenConfig): Promise<number> {
  const server = app.getHttpServer().listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}
