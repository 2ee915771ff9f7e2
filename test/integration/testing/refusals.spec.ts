import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DelayConfigError, DelayInvalidError, DelayShutdownError } from 'nestjs-delay-queue';
import { DelayTesting, DelayTestingError } from 'nestjs-delay-queue/testing';
import { plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { startTested, told } from './support/tested.js';

let stage: Stage;
const late: { testing?: DelayTesting } = {};

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

const quiet = plainHandler('test.a', () => {});

describe('time travel', () => {
  it('is refused while other nodes serve the schema, whatever they run by', async () => {
    const { delays, testing } = await startTested(stage, {
      providers: [quiet],
      options: { nodeName: 'same' },
    });
    const { dueAt } = await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    for (const worker of [true, 'manual'] as const) {
      const options = { worker, nodeName: 'same' };
      const other = await stage.start({
        providers: [plainHandler('test.b', () => {})],
        options,
      });
      for (const call of [
        () => testing.advance('2h'),
        () => testing.drain(),
        () => testing.clear(),
        () => testing.fire('test.a', '1'),
      ]) {
        await expect(call()).rejects.toThrow(
          /other nodes serve the schema delay_queue, .*: same(:[0-9a-f]{4})?\. Give each test file a database/,
        );
        await expect(call()).rejects.toBeInstanceOf(DelayTestingError);
      }
      expect(await delays.find('test.a', '1')).toMatchObject({ dueAt, attempts: 0 });
      await other.stop();
    }
    expect(told(await testing.advance('2h'))).toEqual(['test.a 1: completed']);
  });

  it('is refused as soon as one comes, in the middle of it', async () => {
    const { delays, testing } = await startTested(stage, {
      providers: [
        plainHandler('test.a', async () => {
          await stage.start({ providers: [plainHandler('test.b', () => {})] });
        }),
      ],
    });
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    const { dueAt } = await delays.schedule('test.b', { text: '' }, { after: '9h', key: '1' });
    await expect(testing.advance('9h')).rejects.toThrow('other nodes serve the schema');
    const left = await delays.find('test.b', '1');
    expect(Math.round((Number(dueAt) - Number(left?.dueAt)) / 3_600_000)).toBe(1);
  });

  it('is not refused beside those that only schedule, nor after one was killed', async () => {
    const { delays, testing } = await startTested(stage, { providers: [quiet] });
    const producer = await stage.start({ providers: [quiet], options: { worker: false } });
    await stage.sql(`INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
                     VALUES ('killed', '{test.a}', true, now(), now())`);
    await producer.delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    expect(told(await testing.advance('1h'))).toEqual(['test.a 1: completed']);
    expect(await delays.find('test.a', '1')).toBeNull();
  });

  it('is refused to an application that runs by itself, or has no queue', async () => {
    const { app } = await stage.start({ providers: [quiet] });
    expect(() => DelayTesting.of(app)).toThrow(DelayConfigError);
    expect(() => DelayTesting.of(app)).toThrow(/runs by itself: test it with worker: 'manual'/);
    const empty = await Test.createTestingModule({}).compile();
    expect(() => DelayTesting.of(empty)).toThrow(DelayConfigError);
    expect(() => DelayTesting.of(empty)).toThrow(/has no DelayQueueModule\.forRoot\(\)/);
    for (const nothing of [undefined, null, 'app', {}]) {
      const error = (() => {
        try {
          return DelayTesting.of(nothing as never);
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toBeInstanceOf(DelayInvalidError);
      expect(error).toMatchObject({ field: 'app' });
    }
  });

  it('is one call at a time, also from within a handler', async () => {
    const inside: unknown[] = [];
    const { delays, testing } = await startTested(stage, {
      providers: [
        plainHandler('test.a', async () => {
          inside.push(await late.testing?.advance('1h').catch((error: unknown) => error));
        }),
      ],
    });
    late.testing = testing;
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    const first = testing.advance('1h');
    await expect(testing.drain()).rejects.toThrow('another call of DelayTesting is under way');
    expect(told(await first)).toEqual(['test.a 1: completed']);
    expect(inside).toEqual([expect.any(DelayTestingError)]);
    expect(await testing.drain()).toEqual([]);
  });

  it('ends when the application closes, and cannot begin after that', async () => {
    const began = signal();
    const node = await startTested(stage, {
      providers: [
        plainHandler('test.a', async (_, { signal: abort }) => {
          began.resolve();
          await new Promise((resolve) => abort.addEventListener('abort', resolve));
          throw abort.reason;
        }),
      ],
    });
    const { delays, testing } = node;
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    const refused = testing.advance('1h').catch((error: unknown) => error);
    await began.promise;
    await node.stop();
    expect(await refused).toBeInstanceOf(DelayShutdownError);
    await expect(testing.drain()).rejects.toBeInstanceOf(DelayShutdownError);
    const [row] = await stage.sql('SELECT attempts, leased_by FROM delay_queue.delay');
    expect(row).toEqual({ attempts: 0, leased_by: null });
  });

  it('moves nothing when an open transaction holds a part of it', async () => {
    const { delays, testing, dataSource } = await startTested(stage, { providers: [quiet] });
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'free' });
    await delays.schedule('test.a', { n: 1 }, { after: '2h', key: 'held' });
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    try {
      await delays.reschedule('test.a', 'held', { after: '3h' }, { manager: runner.manager });
      await expect(testing.advance('9h')).rejects.toMatchObject({ code: 'DELAY_UNSTABLE' });
      await testing.expectScheduled('test.a', 'free', { dueIn: '1h', within: '1m' });
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
    expect(told(await testing.advance('9h'))).toHaveLength(2);
  });

  it('refuses bad input, with the field, and does nothing', async () => {
    const { testing } = await startTested(stage);
    const refused: [() => Promise<unknown>, string][] = [
      [() => testing.fire('no name' as 'test.a', '1'), 'name'],
      [() => testing.fire('test.a', 5 as never), 'key'],
      [() => testing.fire('test.a', ''), 'key'],
      [() => testing.advance('30x'), 'span'],
      [() => testing.advance(-1), 'span'],
      [() => testing.advance(undefined as never), 'span'],
      [() => testing.advance('101y'), 'span'],
      [() => testing.expectScheduled('test.a', '1', { dueIn: 'soon' }), 'expected.dueIn'],
      [() => testing.expectScheduled('test.a', '1', { within: {} as never }), 'expected.within'],
      [() => testing.expectScheduled('test.a', '1', { duein: '1h' } as never), 'expected.duein'],
      [() => testing.expectScheduled('test.a', '1', null as never), 'expected'],
      [() => testing.expectNotScheduled('' as 'test.a', '1'), 'name'],
    ];
    for (const [call, field] of refused) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(DelayInvalidError);
      expect(error).toMatchObject({ field });
    }
  });
});
