import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { DelayConfigError, DelayShutdownError, DelayWorker, OnDeadDelay } from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

const byHand = { autorun: false } as const;
@Injectable()
class Mourner {
  @OnDeadDelay('test.noop')
  mourn(): void {}
}

const workerOf = ({ app }: DelayNode): DelayWorker => app.get(DelayWorker);
const nodes = () => stage.sql('SELECT id FROM delay_queue.node');
const rows = () => stage.sql('SELECT key, attempts, leased_by FROM delay_queue.delay ORDER BY key');

/** Runs until it is told to give up, and fails then. */
const untilTold = (begun: () => void) =>
  plainHandler('test.long', async (_, ctx) => {
    begun();
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    throw new Error('its client is closed');
  });

it('with autorun: false nothing runs before run(); it runs again after stop(), and is there once however often it is asked for', async () => {
  const ran: unknown[] = [];
  const node = await stage.start({
    options: byHand,
    providers: [plainHandler('test.noop', ({ key }) => void ran.push(key))],
  });
  const worker = workerOf(node);
  await node.delays.schedule('test.noop', null, { after: 0, key: 'first' });
  expect([worker.isRunning, await nodes(), ran]).toEqual([false, [], []]);
  await Promise.all([worker.run(), worker.run()]);
  await worker.run();
  await stage.noneLeft();
  expect([worker.isRunning, await nodes()]).toMatchObject([true, [{}]]);

  await Promise.all([worker.stop(), worker.stop()]);
  await node.delays.schedule('test.noop', null, { after: 0, key: 'second' });
  expect([worker.isRunning, await nodes(), ran]).toEqual([false, [], ['first']]);
  await worker.run();
  await stage.noneLeft();
  expect(ran).toEqual(['first', 'second']);
});

it('stop() tells handlers in flight, and what fails then loses no attempt; cancel and schedule go on', async () => {
  const begun = signal();
  const node = await stage.start({ providers: [untilTold(begun.resolve)] });
  await node.delays.schedule('test.long', null, { after: 0, key: 'k', maxAttempts: 1 });
  await begun.promise;
  await workerOf(node).stop();
  expect(await rows()).toEqual([{ key: 'k', attempts: 0, leased_by: null }]);
  expect(await node.delays.cancel('test.long', 'k')).toMatchObject({ verdict: 'cancelled' });
});

it('run() in a bootstrap resolves at once and takes effect when all have bootstrapped; stop() in one keeps it from running', async () => {
  const seen: string[] = [];
  const asks = (what: 'run' | 'stop') => ({
    provide: 'asks',
    inject: [DelayWorker],
    useFactory: (worker: DelayWorker) => ({
      async onApplicationBootstrap() {
        await worker[what]();
        seen.push(`${what}: ${worker.isRunning}`);
      },
    }),
  });
  const handler = plainHandler('test.noop', () => {});
  const running = await stage.start({ options: byHand, providers: [handler, asks('run')] });
  expect(workerOf(running).isRunning).toBe(true);
  const stopped = await stage.start({ providers: [handler, asks('stop')] });
  expect(workerOf(stopped).isRunning).toBe(false);
  expect(seen).toEqual(['run: false', 'stop: false']);
});

it('run() is refused where there is no worker, and when the application closes', async () => {
  const options = { worker: false } as const;
  const producer = await stage.start({ options, providers: [plainHandler('test.noop', () => {})] });
  const manual = await stage.start({ options: { worker: 'manual' } });
  for (const node of [producer, manual]) {
    await expect(workerOf(node).run()).rejects.toBeInstanceOf(DelayConfigError);
    await workerOf(node).stop();
  }
  const node = await stage.start({ options: byHand });
  await workerOf(node).run();
  await node.stop();
  await expect(workerOf(node).run()).rejects.toBeInstanceOf(DelayShutdownError);
  await workerOf(node).stop();
});

it('a configuration that cannot work stops the start although the worker is started by hand', async () => {
  const handler = fencedHandler('test.noop', () => {}, { concurrency: 2 });
  const options = { ...byHand, transactionalConnections: 1 };
  const refused = stage.start({ options, providers: [handler, Mourner] });
  await expect(refused).rejects.toBeInstanceOf(DelayConfigError);
});

it('a second close is the first one: nothing is told of it', async () => {
  const node = await stage.start({ providers: [plainHandler('test.noop', () => {})] });
  const told: string[] = [];
  for (const event of ['closing', 'stopped', 'taskFailed'] as const) {
    node.events.on(event, () => told.push(event));
  }
  await Promise.all([node.app.close(), node.app.close()]);
  await node.app.close();
  expect(told).toEqual(['closing', 'stopped']);
});
