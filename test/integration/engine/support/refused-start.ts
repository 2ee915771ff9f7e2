import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { appModule, type NodeSetup } from '../../../support/delay-node.js';

/** Nest closes nothing when a start fails: this closes what was opened, or is being opened. */
class OpenedSources {
  readonly #opened: Promise<DataSource>[] = [];

  readonly open = (options?: DataSourceOptions): Promise<DataSource> => {
    const opening = new DataSource(options!).initialize();
    this.#opened.push(opening);
    return opening;
  };

  async close(): Promise<void> {
    for (const opening of this.#opened) await (await opening).destroy();
  }
}

/** The error with which an application refuses to start. */
export function refusedStart(setup: NodeSetup): Promise<unknown> {
  const sources = new OpenedSources();
  const module = appModule({ ...setup, openDataSource: sources.open });
  return refusedApp(module).finally(() => sources.close());
}

/** The same, of an application that opens its DataSources itself. */
export async function refusedApp(module: DynamicModule): Promise<unknown> {
  try {
    const app = await NestFactory.createApplicationContext(module, {
      logger: false,
      abortOnError: false,
    });
    await app.close();
  } catch (error) {
    return error;
  }
  throw new Error('it started');
}
