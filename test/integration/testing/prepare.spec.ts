import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayQueueModule, DelayService } from 'nestjs-delay-queue';
import { DelayTesting, type OverridableModule } from 'nestjs-delay-queue/testing';
import { appModule, plainHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { told } from './support/tested.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

const quiet = plainHandler('test.a', () => {});

const withForRoot = (url: string): ModuleMetadata => ({
  imports: [appModule({ url, providers: [quiet] })],
});

const withForRootAsync = (url: string): ModuleMetadata => ({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0 }),
    DelayQueueModule.forRootAsync({ isGlobal: false, useFactory: async () => ({ worker: false }) }),
  ],
  providers: [quiet],
});

describe('DelayTesting.prepare', () => {
  it.each([
    ['forRoot', withForRoot],
    ['forRootAsync', withForRootAsync],
  ])('makes an application one to be tested that knows nothing of tests (%s)', async (_, app) => {
    const builder = Test.createTestingModule(app(stage.url));
    const module = await DelayTesting.prepare(builder).compile();
    try {
      const testing = DelayTesting.of(module);
      await expect(testing.drain()).rejects.toThrow('await app.init() before');
      await module.init();
      const delays = module.get(DelayService, { strict: false });
      await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
      expect(told(await testing.advance('1h'))).toEqual(['test.a 1: completed']);
    } finally {
      await module.close();
    }
  });

  it('keeps the options of the application, and what refuses them', () => {
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
    expect(resolve?.({ schema: 'mine' } as never)).toMatchObject({
      schema: 'mine',
      worker: 'manual',
    });
    expect(() => resolve?.({ workr: true } as never)).toThrow('did you mean worker?');
    expect(() => resolve?.({ worker: 'by hand' } as never)).toThrow('worker: must be true, false');
  });
});
