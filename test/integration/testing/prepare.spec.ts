import { expect, it } from '@jest/globals';
import type { ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayConfigError,
  DelayQueueModule,
  DelayService,
  DelayShutdownError,
} from 'nestjs-delay-queue';
import { DelayTesting, type OverridableModule } from 'nestjs-delay-queue/testing';
import { appModule, plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { startTested, told } from './support/tested.js';

/** What can be tested, from its making to its end. */
const stage = stageOfEach();

const quiet = plainHandler('test.a', () => {});

const forRoot = (url: string): ModuleMetadata => ({
  imports: [appModule({ url, providers: [quiet] })],
});

const forRootAsync = (url: string): ModuleMetadata => ({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0 }),
    DelayQueueModule.forRootAsync({ isGlobal: false, useFactory: async () => ({ worker: false }) }),
  ],
  providers: [quiet],
});

it.each([
  ['forRoot', forRoot],
  ['forRootAsync', forRootAsync],
])(
  'prepare makes an application one to be tested that knows nothing of tests (%s)',
  async (_, app) => {
    const builder = Test.createTestingModule(app(stage.url));
    const module = await DelayTesting.prepare(builder).compile();
    try {
      const testing = DelayTesting.of(module);
      await expect(testing.drain()).rejects.toThrow('await app.init() first');
      await module.init();
      const delays = module.get(DelayService, { strict: false });
      await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
      expect(told(await testing.advance('1h'))).toEqual(['test.a 1: completed']);
    } finally {
      await module.close();
    }
  },
);

it('prepare keeps the options of the application, and what refuses them', () => {
  let resolve: ((given: never) => unknown) | undefined;
  const builder: OverridableModule<object> = {
    overrideProvider: () => ({
      useFactory({ factory }) {
        resolve = factory;
        return builder;
      },
    }),
  };
  expect(DelayTesting.prepare(builder as never)).toBe(builder);
  const resolved = resolve?.({ schema: 'mine' } as never);
  expect(resolved).toMatchObject({ schema: 'mine', worker: 'manual' });
  expect(() => resolve?.({ workr: true } as never)).toThrow('did you mean worker?');
  expect(() => resolve?.({ worker: 'by hand' } as never)).toThrow('worker: must be true, false');
});

it('an application that runs by itself, or has no queue, is refused', async () => {
  const { app } = await stage.start({ providers: [quiet] });
  const empty = await Test.createTestingModule({}).compile();
  for (const [of, message] of [
    [app, /is not manual: set worker: 'manual'/],
    [empty, /has no DelayQueueModule\.forRoot\(\)/],
  ] as const) {
    expect(() => DelayTesting.of(of)).toThrow(DelayConfigError);
    expect(() => DelayTesting.of(of)).toThrow(message);
  }
});

it('a call ends when the application closes, and none begins after that', async () => {
  const began = signal();
  const { delays, testing, ...node } = await startTested(stage, {
    providers: [
      plainHandler('test.a', async (_, { signal: abort }) => {
        began.resolve();
        await new Promise((resolve) => abort.addEventListener('abort', resolve));
        throw abort.reason;
      }),
    ],
  });
  await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
  const refused = testing.advance('1h').catch((error: unknown) => error);
  await began.promise;
  await node.stop();
  expect(await refused).toBeInstanceOf(DelayShutdownError);
  await expect(testing.drain()).rejects.toBeInstanceOf(DelayShutdownError);
  const [row] = await stage.sql('SELECT attempts, leased_by FROM delay_queue.delay');
  expect(row).toEqual({ attempts: 0, leased_by: null });
});
