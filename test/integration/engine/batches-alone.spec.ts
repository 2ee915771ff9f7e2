import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Delay, DelayBatchContext } from 'nestjs-delay-queue';
import { batchHandler, fencedBatchHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { keysOf } from './support/batch-stage.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

/** Holds the only slot of its name until it is told to go on; what comes due meanwhile waits. */
function oneAtATime(run: (delays: Delay[], ctx: DelayBatchContext) => void) {
  const begun = signal();
  const goOn = signal();
  const handler = batchHandler(
    'test.batch',
    async (delays, ctx) => {
      if (delays[0]?.key !== 'first') return run(delays, ctx);
      begun.resolve();
      await goOn.promise;
    },
    { batch: 10, concurrency: 1, maxAttempts: 1 },
  );
  return { handler, begun: begun.promise, goOn: goOn.resolve };
}

const schedule = (key: string) => ({ name: 'test.batch', payload: null, key, after: 0 }) as const;

describe('a dead letter that is retried by hand', () => {
  it.each(['its own node', 'another node'])('runs alone, told of by %s', async (by) => {
    const calls: string[][] = [];
    const { handler, begun, goOn } = oneAtATime((delays) => {
      calls.push(keysOf(delays));
      if (calls.length === 1) throw new Error('at first');
    });
    const worker = await stage.start({ providers: [handler] });
    const client =
      by === 'its own node' ? worker : await stage.start({ options: { worker: false } });

    const dead = worker.next('dead');
    await client.delays.scheduleMany([schedule('poison')]);
    await dead;
    await client.delays.scheduleMany([schedule('first')]);
    await begun;
    expect(await client.delays.retryDead('test.batch', 'poison')).toMatchObject({
      verdict: 'retried',
    });
    await client.delays.scheduleMany([schedule('a'), schedule('b')]);
    await stage.until<{ due: boolean }>(
      `SELECT bool_and(wake_at <= clock_timestamp()) AS due FROM delay_queue.delay`,
      ([row]) => row?.due === true,
    );
    goOn();
    await until(
      () => calls.flat(),
      (keys) => keys.length === 4,
    );
    expect(calls.filter((keys) => keys.includes('poison'))).toEqual([['poison'], ['poison']]);
  });
});

describe('a batch handler that is told to stop, and says that its delays failed', () => {
  it.each([
    ['plain', batchHandler],
    ['transactional', fencedBatchHandler],
  ] as const)('a %s one: they are given back, and no attempt is spent', async (_, makeHandler) => {
    const begun = signal<number>();
    const handler = makeHandler(
      'test.batch',
      async (delays: Delay[], ctx: DelayBatchContext) => {
        begun.resolve(delays.length);
        await new Promise((resolve) => {
          ctx.signal.addEventListener('abort', resolve);
        });
        for (const delay of delays) ctx.fail(delay, ctx.signal.reason);
      },
      { batch: 10, maxAttempts: 1 },
    );
    const node = await stage.start({ providers: [handler], options: { drainTimeout: 0 } });
    await node.delays.scheduleMany([schedule('a'), schedule('b'), schedule('c')]);
    await begun.promise;
    await node.stop();
    const rows = await stage.sql(
      `SELECT attempts, leased_by, last_error, wake_at < 'infinity' AS waits FROM delay_queue.delay`,
    );
    const givenBack = { attempts: 0, leased_by: null, last_error: null, waits: true };
    expect(rows).toEqual([givenBack, givenBack, givenBack]);
  });
});
