import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { appModule, type NodeSetup } from '../../../support/delay-node.js';

/** The error with which an application refuses to start. */
export function refusedStart(setup: NodeSetup): Promise<unknown> {
  return refusedApp(appModule(setup));
}

/** Nest closes nothing when a start fails; here what was opened, or is being opened, is closed. */
export async function refusedApp(module: DynamicModule): Promise<unknown> {
  const opened: Promise<DataSource>[] = [];
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const initialize = DataSource.prototype.initialize;
  DataSource.prototype.initialize = function witnessed() {
    const opening = initialize.call(this);
    opened.push(opening);
    return opening;
  };
  try {
    const app = await NestFactory.createApplicationContext(module, {
      logger: false,
      abortOnError: false,
    });
    await app.close();
  } catch (error) {
    for (const source of await Promise.all(opened)) await source.destroy();
    return error;
  } finally {
    DataSource.prototype.initialize = initialize;
  }
  throw new Error('it started');
}
