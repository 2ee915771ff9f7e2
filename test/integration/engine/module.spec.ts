import { describe, expect, it } from '@jest/globals';
import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayConfigError,
  DelayQueueModule,
  type DelayQueueOptions,
  type DelayQueueOptionsFactory,
} from 'nestjs-delay-queue';
import { createEmptyDatabase } from '../../support/database.js';
import { plainHandler } from '../../support/delay-node.js';
import { refusedApp, refusedStart } from './support/refused-start.js';
import { stageOfEach } from './support/stage-of-each.js';

@Module({})
class RootModule {}

// By force: when a start is refused while TypeORM is still connecting, Nest closes nothing.
const stage = stageOfEach({ force: true });

const noop = plainHandler('test.noop', () => {});

const withQueue = (...queues: DynamicModule[]): DynamicModule => ({
  module: RootModule,
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: stage.url, retryAttempts: 0 }),
    ...queues,
  ],
  providers: [noop],
});

const nodes = () => stage.sql('SELECT id, names FROM delay_queue.node');

it('an application whose hooks are called is never told that they were not', async () => {
  const node = await stage.start({ providers: [noop] });
  const advice: string[] = [];
  node.events.on('advice', ({ message }) => void advice.push(message));
  const completed = node.next('completed');
  // Longer than an application has to its hooks.
  await node.delays.schedule('test.noop', null, { after: 1_100 });
  await completed;
  expect(advice).toEqual([]);
});

describe('forRootAsync', () => {
  @Injectable()
  class Factory implements DelayQueueOptionsFactory {
    createDelayQueueOptions(): Promise<DelayQueueOptions> {
      return Promise.resolve({ nodeName: 'from the factory' });
    }
  }

  @Module({ providers: [Factory], exports: [Factory] })
  class FactoryModule {}

  it.each([
    [
      'useFactory',
      { inject: [Factory], useFactory: (of: Factory) => of.createDelayQueueOptions() },
    ],
    ['useClass', { useClass: Factory }],
    ['useExisting', { useExisting: Factory }],
  ])('takes its options by %s; after close the node is known to nobody', async (_, how) => {
    const queue = DelayQueueModule.forRootAsync({ imports: [FactoryModule], ...how });
    const app = await NestFactory.createApplicationContext(withQueue(queue), {
      logger: false,
      abortOnError: false,
    });
    expect(await nodes()).toEqual([{ id: 'from the factory', names: ['test.noop'] }]);
    await app.close();
    expect(await nodes()).toEqual([]);
  });
});

async function refusal(error: Promise<unknown>): Promise<string> {
  const refused = await error;
  expect(refused).toBeInstanceOf(DelayConfigError);
  return String(refused);
}

describe('a start is refused', () => {
  it('when forRoot is imported twice', async () => {
    const twice = withQueue(DelayQueueModule.forRoot(), DelayQueueModule.forRoot());
    expect(await refusal(refusedApp(twice))).toContain('imported twice');
  });

  it('when the tables are missing: the message says what to run', async () => {
    const empty = await createEmptyDatabase();
    const text = await refusal(refusedStart({ url: empty.url, providers: [noop] }));
    expect(text).toMatch(/delay, .*rerun, .*operation_change not found.*delayQueueMigrations/);
    await empty.drop();
  });

  it('when transactions are not READ COMMITTED by default', async () => {
    const url = new URL(stage.url);
    url.searchParams.set('options', '-c default_transaction_isolation=serializable');
    const text = await refusal(refusedStart({ url: url.href, providers: [noop] }));
    expect(text).toMatch(/default_transaction_isolation is 'serializable'/);
  });

  it('on a database that takes no writes: the message says why, and what to do', async () => {
    await stage.set({ default_transaction_read_only: 'on' });
    const text = await refusal(refusedStart({ url: stage.url, providers: [noop] }));
    expect(text).toMatch(/read-only here \(default_transaction_read_only.*ALTER ROLE/);
  });

  it('on a database that hides rows from the role: the message names the tables', async () => {
    const role = `guarded_${process.pid}`;
    await stage.sql(
      `CREATE ROLE ${role} LOGIN PASSWORD 'guarded';
       GRANT USAGE ON SCHEMA delay_queue TO ${role};
       GRANT ALL ON ALL TABLES IN SCHEMA delay_queue TO ${role}`,
    );
    const url = new URL(stage.url);
    [url.username, url.password] = [role, 'guarded'];
    try {
      await (await stage.start({ url: url.href, providers: [noop] })).stop();
      await stage.sql('ALTER TABLE delay_queue.delay ENABLE ROW LEVEL SECURITY');
      const text = await refusal(refusedStart({ url: url.href, providers: [noop] }));
      expect(text).toMatch(/row-level security.*"delay_queue"\.delay\..*BYPASSRLS/);
    } finally {
      await stage.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
});

it('a node with worker: false schedules, and runs nothing', async () => {
  const ran: unknown[] = [];
  const handler = plainHandler('test.noop', ({ key }) => void ran.push(key));
  const producer = await stage.start({ options: { worker: false }, providers: [handler] });
  await producer.delays.schedule('test.noop', null, { after: 0, key: 'k' });
  expect(await nodes()).toEqual([]);
  const worker = await stage.start({ providers: [noop] });
  await stage.noneLeft();
  expect(ran).toEqual([]);
  expect(await worker.delays.history('test.noop', 'k')).toMatchObject([{ state: 'completed' }]);
});
