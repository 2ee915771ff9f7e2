import { expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { DelayEvents } from 'nestjs-delay-queue';
import { Worker } from '../../../src/delay-queue/worker/worker.js';
import { Declarations } from '../../../src/delay-queue/worker/declarations.js';
import { appModule, plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

/** Nest lets an HTTP application be closed before its `init` is over. */
it('a node that is closed while it starts leaves nothing behind', async () => {
  const [reached, gate] = [signal(), signal()];
  stage.parts.intercept(Declarations, 'start', async ({ real }) => {
    reached.resolve();
    await gate.promise;
    return real();
  });
  const setup = {
    url: stage.url,
    parts: stage.parts,
    providers: [plainHandler('test.a', () => {})],
  };
  const app = await NestFactory.create(appModule(setup), { logger: false, abortOnError: false });
  const init = app.init();
  await reached.promise;
  const closed = app.close();
  await new Promise(setImmediate);
  gate.resolve();
  await Promise.all([init, closed]);
  expect(await stage.sql('SELECT id FROM delay_queue.node')).toEqual([]);
});

it('a start that outlasts the end comes to nothing by itself', async () => {
  const [reached, gate, done] = [signal(), signal(), signal()];
  stage.parts.intercept(Declarations, 'start', async ({ real }) => {
    reached.resolve();
    await gate.promise;
    return real();
  });
  stage.parts.intercept(Worker, 'drain', async ({ real }) => {
    const unfinished = await real();
    done.resolve();
    return unfinished;
  });
  const setup = {
    url: stage.url,
    parts: stage.parts,
    providers: [plainHandler('test.a', () => {})],
  };
  const app = await NestFactory.create(appModule(setup), { logger: false, abortOnError: false });
  const told: string[] = [];
  const events = app.get(DelayEvents);
  for (const event of ['ready', 'stopped'] as const) events.on(event, () => told.push(event));
  const init = app.init();
  await reached.promise;
  await app.close();
  gate.resolve();
  await Promise.all([init, done.promise]);
  expect(told).toEqual(['stopped']);
}, 30_000);
