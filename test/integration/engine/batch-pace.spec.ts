import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { OnDelayBatchOptions } from 'nestjs-delay-queue';
import { batchHandler, fencedBatchHandler, type Signal, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';

const KINDS = { plain: batchHandler, transactional: fencedBatchHandler };

let stage: Stage;
let goOn: Signal<void>;
/** What each call got, in the order in which they began; none ends before `goOn`. */
let calls: string[][];

beforeEach(async () => {
  stage = await Stage.open();
  goOn = signal();
  calls = [];
});

afterEach(async () => {
  goOn.resolve();
  await stage.close();
});

const slowHandler = (kind: keyof typeof KINDS, options: OnDelayBatchOptions): Type =>
  KINDS[kind](
    'test.batch',
    (delays) => {
      calls.push(delays.map(({ key }) => key ?? ''));
      return goOn.promise;
    },
    options,
  );

const untilGone = (): Promise<unknown> => {
  goOn.resolve();
  return stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 0);
};

const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `k${n}`);

for (const kind of ['plain', 'transactional'] as const) {
  it(`a slow ${kind} batch handler does not hold up what is due later while slots are free`, async () => {
    const handler = slowHandler(kind, { batch: 200, concurrency: 6 });
    const { delays } = await stage.start({ providers: [handler] });
    for (const key of keys(6)) {
      await delays.schedule('test.batch', null, { key, after: 0 });
      await until(
        () => calls.flat(),
        (begun) => begun.includes(key),
      );
    }
    expect(calls).toEqual(keys(6).map((key) => [key]));
    await untilGone();
  });

  it(`a burst that comes bit by bit fits into the slots of a slow ${kind} batch handler`, async () => {
    const handler = slowHandler(kind, { batch: 1_000, concurrency: 10 });
    const { delays } = await stage.start({ providers: [handler] });
    await delays.scheduleMany(
      keys(500).map((key, index) => ({
        name: 'test.batch',
        payload: null,
        key,
        after: 200 + index,
      })),
    );
    // No call ends before all have begun: more than ten calls would never get there.
    await until(
      () => calls.flat().length,
      (begun) => begun === 500,
    );
    await untilGone();
    expect(calls.flat().toSorted()).toEqual(keys(500).toSorted());
  });
}
