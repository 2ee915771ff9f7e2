/** A process of a chaos run, a worker or a producer. What it is told stands in `CHAOS_PROCESS`. */
import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { clocksOf } from '../load/clocks.js';
import { handlersOf } from '../load/handlers.js';
import { Producer } from '../load/producer.js';
import { chaosApp } from './chaos-app.js';
import { obey, shiftWallClock } from './orders.js';
import type { NodeOrder, ProcessMessage, ProcessSetup } from './process.protocol.js';

const setup = JSON.parse(process.env['CHAOS_PROCESS'] ?? '{}') as ProcessSetup;
if (setup.clockShiftMs) shiftWallClock(setup.clockShiftMs);

// Ctrl+C reaches the whole group: the run decides when we end, and so does its end.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

// One that a fault has stopped cannot even end when the run is killed; all are of one group.
const runPid = process.ppid;
process.on('exit', () => {
  if (process.ppid !== runPid) process.kill(0, 'SIGCONT');
});

const app = await open();
const producer = setup.load && Producer.start(app, setup, setup.load);
if (producer) process.once('SIGTERM', () => void drain(producer));
else app.enableShutdownHooks(['SIGTERM'], { useProcessExit: true });

process.on('message', (order: NodeOrder) => obey(order, app.get(DataSource)));
const ready: ProcessMessage = { ready: true };
process.send?.(ready);

async function open(): Promise<INestApplicationContext> {
  try {
    const handlers =
      setup.role === 'worker' ? [...handlersOf(setup), ...clocksOf(setup.nodeName)] : [];
    return await NestFactory.createApplicationContext(chaosApp(setup, handlers), {
      logger: ['error', 'warn'],
      abortOnError: false,
    });
  } catch (error) {
    // The server is away, or a fault cuts us off: the run starts another process.
    console.error(`${setup.nodeName} cannot start: ${String(error)}`);
    return process.exit(1);
  }
}

/** Calls that are under way get their answers. */
async function drain(busy: Producer): Promise<void> {
  await busy.stop();
  await app.close();
  process.exit(0);
}
