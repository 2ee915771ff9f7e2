import { beforeEach, expect, it } from '@jest/globals';
import type { DelayService } from 'nestjs-delay-queue';
import { batchHandler, type Signal, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { batchOf, keys, keysOf } from './support/batch-stage.js';
import { stageOfEach } from './support/stage-of-each.js';

let goOn: Signal<void>;
/** What each call got, in the order in which they began; none ends before `goOn`. */
let calls: string[][];

const stage = stageOfEach({ release: () => goOn.resolve() });

beforeEach(() => {
  [goOn, calls] = [signal(), []];
});

const run = (delays: Parameters<typeof keysOf>[0]): Promise<void> => {
  calls.push(keysOf(delays));
  return goOn.promise;
};

async function startSlow(concurrency: number): Promise<DelayService> {
  const handler = batchHandler('test.batch', run, { batch: 1_000, concurrency });
  return (await stage.start({ providers: [handler] })).delays;
}

it('a slow batch handler does not hold up what is due later while slots are free', async () => {
  const delays = await startSlow(6);
  for (const key of keys(6)) {
    await delays.scheduleMany(batchOf([key]));
    await until(
      () => calls.flat(),
      (begun) => begun.includes(key),
    );
  }
  expect(calls).toEqual(keys(6).map((key) => [key]));
});

it('a burst that comes bit by bit fits into the slots of a slow batch handler', async () => {
  const delays = await startSlow(10);
  await delays.scheduleMany(batchOf(keys(500), 200, 3));
  // No call ends before all have begun: more than ten calls would never get there.
  await until(
    () => calls.flat(),
    ({ length }) => length === 500,
  );
  expect(calls.length).toBeLessThanOrEqual(10);
});
