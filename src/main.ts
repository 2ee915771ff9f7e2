import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { runMigrations } from 'nestjs-delay-queue';
import { once } from 'node:events';
import { DataSource } from 'typeorm';
import { AppModule, databaseOptions } from './app.module.js';
import { DatabaseUnavailableError, openDatabase } from './database.js';
import { configureHttp } from './shop/http/configure-http.js';
import { readSettings, ShopConfigError, type ShopSettings } from './shop/shop.config.js';
import { whatToTry } from './shop/what-to-try.js';

/** `npm start` turns one Ctrl+C into two signals, the terminal's and its own, at the same moment. */
const SECOND_SIGNAL_AFTER_MS = 500;

const prod = process.argv.includes('--prod');

/** What has been opened, to be closed in reverse. */
const opened: (() => Promise<void>)[] = [];

async function start(): Promise<void> {
  const settings = readSettings(process.env, { prod });
  const database = await openDatabase({ prod });
  opened.push(() => database.stop());
  await migrate(database.url);
  const port = await listen(settings, database.url);
  console.log(
    prod
      ? `The shop listens on ${settings.host}:${port}`
      : whatToTry({ ...settings, port, databaseUrl: database.url, env: process.env }),
  );
}

async function migrate(url: string): Promise<void> {
  const dataSource = await new DataSource(databaseOptions(url)).initialize();
  try {
    await runMigrations(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** @returns the port, which is another one than asked for when that was 0 */
async function listen(settings: ShopSettings, databaseUrl: string): Promise<number> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot({ ...settings, databaseUrl }),
    { bodyParser: false, abortOnError: false, logger: ['fatal', 'error', 'warn'] },
  );
  opened.push(() => app.close());
  configureHttp(app);
  await app.init();
  // Not app.listen(): that one logs a port in use with a line of its own before it throws.
  const server = app.getHttpServer().listen(settings.port, settings.host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : settings.port;
}

async function closeAll(): Promise<void> {
  const failures: unknown[] = [];
  for (const close of opened.splice(0).toReversed()) {
    await close().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * Drains and stops on the first Ctrl+C or SIGTERM, gives up on the second. Not Nest's
 * `enableShutdownHooks()`: that one ends the process by the signal as soon as the application is
 * closed, before the database is, and with an exit code that says it was killed.
 */
function stopOnSignal(starting: Promise<void>): void {
  let firstAtMs: number | undefined;
  const stop = async (): Promise<void> => {
    const nowMs = performance.now();
    if (firstAtMs !== undefined) {
      if (nowMs - firstAtMs > SECOND_SIGNAL_AFTER_MS) process.exit(130);
      return;
    }
    firstAtMs = nowMs;
    await starting.catch(() => undefined);
    await closeAll();
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void stop().catch(fail));
  }
}

async function fail(error: unknown): Promise<never> {
  console.error(explain(error));
  try {
    await closeAll();
  } finally {
    process.exit(1);
  }
}

function explain(error: unknown): unknown {
  if (error instanceof ShopConfigError || error instanceof DatabaseUnavailableError) {
    return error.message;
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `${error.message}. Take another port: PORT=3001 npm start`;
  }
  return error;
}

const starting = start();
stopOnSignal(starting);
await starting.catch(fail);
