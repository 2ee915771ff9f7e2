import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DelayService, OnDelayEvent } from 'nestjs-delay-queue';
import { DelayTestingError } from 'nestjs-delay-queue/testing';
import {
  batchHandler,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
} from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { startTested, told } from './support/tested.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

const SLOW_RETRY = { backoff: { base: '1h', max: '1h', jitter: 0 } } as const;

describe('a node that runs by hand', () => {
  it('runs nothing by itself: neither what is due, nor what is scheduled for now', async () => {
    const before = await startTested(stage, { providers: [plainHandler('test.a', () => {})] });
    await before.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'overdue' });
    await before.stop();
    const { delays, testing, events } = await startTested(stage, {
      providers: [plainHandler('test.a', () => {}), plainHandler('test.b', () => {})],
    });
    const started: (string | null)[] = [];
    events.on('started', ({ key }) => started.push(key));
    await delays.schedule('test.a', { n: 1 }, { after: 0, key: 'now' });
    await delays.schedule('test.b', { text: '' }, { after: '1h', key: 'later' });
    await testing.fire('test.b', 'later');
    expect(started).toEqual(['later']);
    expect(told(await testing.drain())).toEqual([
      'test.a overdue: completed',
      'test.a now: completed',
    ]);
  });

  it('says once at its start that it does not, and takes no share of the names', async () => {
    const advice: string[] = [];
    class Advised {
      @OnDelayEvent('advice')
      hear({ message }: { message: string }): void {
        advice.push(message);
      }
    }
    const node = await startTested(stage, {
      providers: [plainHandler('test.a', () => {}), Advised],
    });
    expect(advice).toEqual([
      "this node runs nothing by itself: its worker is 'manual', which is for tests",
    ]);
    expect(await node.admin.stats()).toMatchObject({ nodes: [{ names: [] }], names: [] });
    await node.stop();
    expect(await stage.sql('SELECT * FROM delay_queue.node')).toEqual([]);
  });
});

describe('drain', () => {
  it('runs what is due and what that makes due, and no retry before its time', async () => {
    const late: { delays?: DelayService } = {};
    const { delays, testing } = await startTested(stage, {
      providers: [
        plainHandler('test.a', async () => {
          await late.delays?.schedule('test.b', { text: '' }, { after: 0, key: 'b' });
        }),
        plainHandler(
          'test.b',
          () => {
            throw new Error('no');
          },
          SLOW_RETRY,
        ),
      ],
    });
    late.delays = delays;
    await delays.schedule('test.a', { n: 1 }, { after: 0, key: 'a' });
    await delays.schedule('test.a', { n: 1 }, { after: '1m', key: 'later' });
    expect(told(await testing.drain())).toEqual(['test.a a: completed', 'test.b b: retrying']);
    expect(await testing.drain()).toEqual([]);
    await testing.expectScheduled('test.b', 'b', { dueIn: '1h' });
    await testing.expectScheduled('test.a', 'later');
  });

  it('runs what is due together: in one batch, in one transaction', async () => {
    const sizes: number[] = [];
    const { delays, testing } = await startTested(stage, {
      providers: [
        fencedBatchHandler(
          'test.batch',
          async (batch, { manager }) => {
            sizes.push(batch.length);
            await manager.query('INSERT INTO ran SELECT unnest($1::text[])', [
              batch.map(({ key }) => key),
            ]);
          },
          { batch: 100 },
        ),
      ],
    });
    await stage.sql('CREATE TABLE ran (key text)');
    for (const key of ['a', 'b', 'c']) {
      await delays.schedule('test.batch', null, { after: 0, key });
    }
    expect(told(await testing.drain())).toEqual([
      'test.batch a: completed',
      'test.batch b: completed',
      'test.batch c: completed',
    ]);
    expect(sizes).toEqual([3]);
    expect(await stage.sql('SELECT key FROM ran ORDER BY key')).toHaveLength(3);
  });

  it('tells of a batch that fails, and of each of its delays alone', async () => {
    const { delays, testing } = await startTested(stage, {
      providers: [
        batchHandler(
          'test.batch',
          (batch) => {
            if (batch.some(({ key }) => key === 'b')) throw new Error('b');
          },
          { batch: 100, ...SLOW_RETRY },
        ),
      ],
    });
    const items = ['a', 'b'].map((key) => ({
      name: 'test.batch' as const,
      payload: null,
      key,
      after: '1h' as const,
    }));
    await delays.scheduleMany(items);
    expect(told(await testing.advance('1h'))).toEqual([
      'test.batch a: split',
      'test.batch b: split',
      'test.batch a: completed',
      'test.batch b: retrying',
    ]);
  });

  it('commits a transactional handler with the end of its delay, and undoes one that fails', async () => {
    const { delays, testing } = await startTested(stage, {
      providers: [
        fencedHandler(
          'test.a',
          async ({ key }, { manager }) => {
            await manager.query('INSERT INTO ran VALUES ($1)', [key]);
            if (key === 'bad') throw new Error('bad');
          },
          SLOW_RETRY,
        ),
      ],
    });
    await stage.sql('CREATE TABLE ran (key text)');
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'good' });
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'bad' });
    expect(told(await testing.advance('1h'))).toEqual([
      'test.a good: completed',
      'test.a bad: retrying',
    ]);
    expect(await stage.sql('SELECT key FROM ran')).toEqual([{ key: 'good' }]);
  });

  it('ends, with an error, where a handler is never through', async () => {
    const late: { delays?: DelayService } = {};
    const { delays, testing } = await startTested(stage, {
      providers: [
        batchHandler(
          'test.more',
          async (batch) => {
            await late.delays?.scheduleMany(
              batch.map(() => ({ name: 'test.more', payload: null, after: 0 })),
            );
          },
          { batch: 1_000 },
        ),
      ],
    });
    late.delays = delays;
    const many = Array.from({ length: 1_000 }, () => ({
      name: 'test.more' as const,
      payload: null,
      after: 0,
    }));
    await delays.scheduleMany(many);
    await expect(testing.drain()).rejects.toThrow(/has run 10000 attempts .* of test\.more/);
    await expect(testing.drain()).rejects.toBeInstanceOf(DelayTestingError);
  });
});

describe('fire', () => {
  it('runs that one now, wherever its due time, and answers how it ended', async () => {
    const { delays, testing } = await startTested(stage, {
      providers: [
        plainHandler(
          'test.a',
          ({ payload }) => {
            if ((payload as { n: number }).n === 2) throw new Error('two');
          },
          SLOW_RETRY,
        ),
      ],
    });
    await delays.schedule('test.a', { n: 1 }, { after: '9d', key: '1' });
    await delays.schedule('test.a', { n: 2 }, { after: '9d', key: '2' });
    expect(await testing.fire('test.a', '1')).toMatchObject({
      name: 'test.a',
      key: '1',
      payload: { n: 1 },
      attempt: 1,
      outcome: 'completed',
      travelledMs: 0,
    });
    expect(await testing.fire('test.a', '2')).toMatchObject({ attempt: 1, outcome: 'retrying' });
    expect(await testing.fire('test.a', '2')).toMatchObject({ attempt: 2, error: 'Error: two' });
  });

  it('refuses what does not wait, and says what does', async () => {
    const { delays, testing } = await startTested(stage, {
      providers: [plainHandler('test.a', () => {})],
    });
    await expect(testing.fire('test.a', '1')).rejects.toThrow(
      'test.a of "1" does not wait: There is no delay of that name',
    );
    await delays.schedule('test.a', { n: 1 }, { after: '90m', key: '2' });
    const refused = testing.fire('test.a', '1');
    await expect(refused).rejects.toBeInstanceOf(DelayTestingError);
    await expect(refused).rejects.toThrow(
      /does not wait: There are "2" scheduled, due in 1h (30m|29m 5\ds)$/,
    );
    await expect(testing.fire('test.b', '2')).rejects.toThrow(
      'this application has no handler of test.b; it has test.a',
    );
  });

  it('has nothing left to run after clear, not even a dead letter', async () => {
    const { admin, delays, testing } = await startTested(stage, {
      providers: [
        plainHandler(
          'test.a',
          () => {
            throw new Error('no');
          },
          { maxAttempts: 1 },
        ),
      ],
    });
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    await delays.schedule('test.elsewhere', null, { after: '1h' });
    await testing.fire('test.a', '1');
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '2' });
    await testing.clear();
    expect(await admin.count({})).toBe(0);
    expect(await testing.advance('2h')).toEqual([]);
  });
});
