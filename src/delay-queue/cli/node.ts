import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { DelayQueueModule } from '../index.js';

const COMMAND_LINES = Symbol('the DataSource of the command line');

@Module({})
class CommandLineModule {}

/** Starts a node that runs no handlers. @throws DelayConfigError when the database is not fit */
export function startNode(
  dataSource: DataSource,
  schema: string,
  { writesHistory }: { writesHistory: boolean },
): Promise<INestApplicationContext> {
  const root = {
    module: CommandLineModule,
    global: true,
    providers: [{ provide: COMMAND_LINES, useValue: dataSource }],
    exports: [COMMAND_LINES],
    imports: [
      DelayQueueModule.forRoot({
        dataSource: COMMAND_LINES,
        schema,
        worker: false,
        connections: 2,
        // The attempts that a row has kept go on into history, and none that it has not.
        history: writesHistory && { attempts: true },
      }),
    ],
  };
  return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
}
