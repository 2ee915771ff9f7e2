import { expect, it } from '@jest/globals';
import type { Delay, DelayBatchContext } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { batchOf, keys, keysOf, KINDS, startWith } from './support/batch-stage.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

it.each(['its own node', 'another node'])(
  'a dead letter that is retried by hand runs alone, told of by %s',
  async (by) => {
    const calls: string[][] = [];
    const run = (delays: readonly Delay[]): void => {
      calls.push(keysOf(delays));
      if (calls.length === 1) throw new Error('at first');
    };
    const options = { maxAttempts: 1 };
    const { node, scheduleTogether } = await startWith(stage, 'plain', run, options);
    const caller = by === 'its own node' ? node : await stage.start({ options: { worker: false } });
    const dead = node.next('dead');
    await caller.delays.scheduleMany(batchOf(['poison']));
    await dead;
    await scheduleTogether(keys(2), async () =>
      expect(await caller.delays.retryDead('test.batch', 'poison')).toMatchObject({
        verdict: 'retried',
      }),
    );
    await until(
      () => calls.flat(),
      ({ length }) => length === 4,
    );
    expect(calls.filter((called) => called.includes('poison'))).toEqual([['poison'], ['poison']]);
  },
);

it.each(['plain', 'transactional'] as const)(
  'a %s batch handler that is told to stop, and says that its delays failed: they are given back, and no attempt is spent',
  async (kind) => {
    const begun = signal();
    const handler = KINDS[kind](
      'test.batch',
      async (delays: Delay[], ctx: DelayBatchContext) => {
        begun.resolve();
        await new Promise((resolve) => {
          ctx.signal.addEventListener('abort', resolve);
        });
        for (const delay of delays) ctx.fail(delay, ctx.signal.reason);
      },
      { batch: 10, maxAttempts: 1 },
    );
    const node = await stage.start({ providers: [handler], options: { drainTimeout: 0 } });
    await node.delays.scheduleMany(batchOf(keys(3)));
    await begun.promise;
    await node.stop();
    const rows = await stage.sql(
      `SELECT attempts, leased_by, last_error, wake_at < 'infinity' AS waits FROM delay_queue.delay`,
    );
    const givenBack = { attempts: 0, leased_by: null, last_error: null, waits: true };
    expect(rows).toEqual([givenBack, givenBack, givenBack]);
  },
);
