import { type DynamicModule, Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { appModule, type NodeSetup } from '../../../support/delay-node.js';

/** Nest closes nothing when a start fails: here what was opened is closed. */
class Opened {
  readonly sources: DataSource[] = [];
}

/** The error with which an application refuses to start. */
export function refusedStart(setup: NodeSetup): Promise<unknown> {
  return refusedApp(appModule(setup));
}

export async function refusedApp(module: DynamicModule): Promise<unknown> {
  const opened = new Opened();

  @Injectable()
  class Witness {
    constructor(source: DataSource) {
      opened.sources.push(source);
    }
  }

  try {
    const app = await NestFactory.createApplicationContext(
      { ...module, providers: [...(module.providers ?? []), Witness] },
      { logger: false, abortOnError: false },
    );
    await app.close();
  } catch (error) {
    for (const source of opened.sources) await source.destroy();
    return error;
  }
  throw new Error('it started');
}
