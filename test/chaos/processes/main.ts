/** A process of a chaos run, a worker or a producer. What it is told stands in `CHAOS_PROCESS`. */
import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayEvents } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { handlersOf } from '../load/handlers.js';
import { Producer } from '../load/producer.js';
import { applyMutant } from '../mutants/apply.js';
import { chaosApp } from './chaos-app.js';
import { obey } from './orders.js';
import type { ProcessMessage, ProcessOrder, ProcessSetup } from './process.protocol.js';
import { Tally } from './tally.js';
import { shiftWallClock } from './wall-clock.js';

const TELL_EVERY_MS = 1_000;

const setup = JSON.parse(process.env['CHAOS_PROCESS'] ?? '{}') as ProcessSetup;
if (setup.clockShiftMs !== 0) shiftWallClock(setup.clockShiftMs);
await applyMutant(setup.mutant ?? undefined);

// Ctrl+C reaches the whole group: the run decides when we end, and so does its end.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

// One that a fault has stopped cannot even end when the run is killed; all are of one group.
const runPid = process.ppid;
process.on('exit', () => {
  if (process.ppid !== runPid) process.kill(0, 'SIGCONT');
});

const tell = (message: ProcessMessage): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
};

const tally = new Tally();
const handlers = setup.role === 'worker' ? handlersOf(setup, tally) : [];
const app = await open();
tally.watch(app.get(DelayEvents));

let producer: Producer | undefined;
if (setup.load === null) {
  app.enableShutdownHooks(['SIGTERM'], { useProcessExit: true });
} else {
  producer = Producer.start(app, setup, setup.load, tally);
  process.once('SIGTERM', () => void drain(producer as Producer));
}

function open(): Promise<INestApplicationContext> {
  const opened = NestFactory.createApplicationContext(chaosApp(setup, handlers), {
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  return opened.catch((error: unknown) => {
    // The server is away, or a fault cuts us off: the run starts another process.
    console.error(`${setup.nodeName} cannot start: ${String(error)}`);
    return process.exit(1);
  });
}

/** Calls that are under way get their answers. */
async function drain(busy: Producer): Promise<void> {
  await busy.stop();
  tell({ counts: tally.take() });
  await app.close();
  process.exit(0);
}

process.on('message', (order: ProcessOrder) => {
  if ('poisonPerMinute' in order) producer?.poison(order.poisonPerMinute);
  else obey(order, app.get(DataSource));
});
setInterval(() => tell({ counts: tally.take() }), TELL_EVERY_MS).unref();
tell({ ready: true });
