import { expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { RecurrenceStore } from '../../../src/delay-queue/store/recurrences/recurrence.store.js';
import { appModule, plainHandler, signal } from '../../support/delay-node.js';
import { intercept } from './support/intercept.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

/** Nest lets an HTTP application be closed before its `init` is over. */
it('a node that is closed while it starts leaves nothing behind', async () => {
  const [reached, gate] = [signal(), signal()];
  intercept(RecurrenceStore.prototype, 'withdraw', async ({ real }) => {
    reached.resolve();
    await gate.promise;
    return real();
  });
  const setup = { url: stage.url, providers: [plainHandler('test.a', () => {})] };
  const app = await NestFactory.create(appModule(setup), { logger: false, abortOnError: false });
  const init = app.init();
  await reached.promise;
  const closed = app.close();
  await new Promise(setImmediate);
  gate.resolve();
  await Promise.all([init, closed]);
  expect(await stage.sql('SELECT id FROM delay_queue.node')).toEqual([]);
});
