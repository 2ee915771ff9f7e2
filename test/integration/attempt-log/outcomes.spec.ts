import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Provider } from '@nestjs/common';
import { type Delay, type DelayContext, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import {
  batchHandler,
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  signal,
} from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';
import { KEY, KEPT, NAME, told, times } from './support/told.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const start = (provider: Provider, options = {}): Promise<DelayNode> =>
  stage.start({ providers: [provider], options: { ...KEPT, nodeName: 'n1', ...options } });

const schedule = (node: DelayNode, more = {}) =>
  node.delays.schedule(NAME, null, { after: 0, key: KEY, ...more });

type Run = (delay: Delay, ctx: DelayContext & { manager?: EntityManager }) => Promise<void> | void;

/** What is told of the key when it has ended. */
const atEnd = async (node: DelayNode): Promise<string[][]> => {
  await until(
    () => node.delays.history(NAME, KEY),
    (lines) => lines.length > 0,
  );
  return told(node);
};

/** Only at its first call. */
function failsFirst(): () => void {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls === 1) throw new Error('no');
  };
}

describe.each([
  ['plain handler', (run: Run) => plainHandler(NAME, run)],
  ['transactional handler', (run: Run) => fencedHandler(NAME, run)],
])('of a %s', (_, handlerOf) => {
  it('each attempt is told, with its place and times', async () => {
    const before = Date.now();
    const node = await start(handlerOf(failsFirst()));
    await schedule(node);
    expect(await atEnd(node)).toEqual([['completed', '1 failed: Error: no', '2 completed']]);
    const [line] = await node.delays.history(NAME, KEY);
    expect(line?.attemptLog.map(({ node: name }) => name)).toEqual(['n1', 'n1']);
    const instants = times(line!.attemptLog);
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
    expect(instants[0]).toBeGreaterThanOrEqual(before - 1_000);
    expect(instants.at(-1)).toBe(line!.endedAt.getTime());
  });

  it('what is postponed or discarded is told', async () => {
    const says = [new PostponeDelay('1ms'), new DiscardDelay('unwanted')];
    const node = await start(
      handlerOf(() => {
        throw says.shift();
      }),
    );
    const dead = node.next('dead');
    await schedule(node);
    await dead;
    expect(await told(node)).toEqual([['dead', '1 postponed', '1 failed: unwanted']]);
  });

  it('what moves its own row on is told, and begins anew', async () => {
    let calls = 0;
    const node = await start(
      handlerOf(async (_delay, { manager }) => {
        calls += 1;
        if (calls === 1) throw new Error('no');
        if (calls === 2) await schedule(node, manager && { manager });
      }),
    );
    await schedule(node);
    await until(
      () => node.delays.history(NAME, KEY),
      (lines) => lines.length === 2,
    );
    expect(await told(node)).toEqual([
      ['superseded', '1 failed: Error: no', '2 superseded'],
      ['completed', '1 completed'],
    ]);
  });

  it('a dead letter keeps what it tried, also when it is tried again', async () => {
    let isBroken = true;
    const node = await start(
      handlerOf(() => {
        if (isBroken) throw new Error('no');
      }),
    );
    const dead = node.next('dead');
    await schedule(node, { maxAttempts: 2 });
    await dead;
    const failed = ['1 failed: Error: no', '2 failed: Error: no'];
    expect(await told(node)).toEqual([['dead', ...failed]]);
    isBroken = false;
    await node.delays.retryDead(NAME, KEY);
    expect(await atEnd(node)).toEqual([['completed', ...failed, '1 completed']]);
  });
});

describe.each([
  ['plain', batchHandler],
  ['transactional', fencedBatchHandler],
])('of a %s batch', (_, handlerOf) => {
  it('that was split is told, and what became of each alone', async () => {
    const sizes: number[] = [];
    const node = await start(
      handlerOf(
        NAME,
        (delays: readonly unknown[]) => {
          sizes.push(delays.length);
          if (delays.length > 1) throw new Error('together');
        },
        { batch: 2, concurrency: 1 },
      ),
    );
    await node.delays.scheduleMany([
      { name: NAME, payload: null, after: 0, key: KEY },
      { name: NAME, payload: null, after: 0, key: 'beside' },
    ]);
    expect(await atEnd(node)).toEqual([['completed', '1 split: Error: together', '1 completed']]);
    expect(sizes[0]).toBe(2);
  });
});

it('while it runs, find and list say since when', async () => {
  const [begun, done] = [signal(), signal()];
  const handler = plainHandler(NAME, async () => {
    begun.resolve();
    await done.promise;
  });
  const node = await start(handler);
  await schedule(node);
  await begun.promise;
  const running = {
    attempt: 1,
    outcome: 'running',
    node: 'n1',
    startedAt: expect.any(Date),
    endedAt: null,
    error: null,
  };
  expect(await node.delays.find(NAME, KEY)).toMatchObject({ attemptLog: [running] });
  expect(await node.admin.list({ name: NAME })).toMatchObject([{ attemptLog: [running] }]);
  done.resolve();
  expect(await atEnd(node)).toEqual([['completed', '1 completed']]);
});

it('an attempt that a shutdown gives back, and one that is aborted, are told', async () => {
  let begun = signal();
  const handler = plainHandler(NAME, async (_, { signal: { aborted }, signal: aborting }) => {
    begun.resolve();
    if (!aborted) await new Promise((resolve) => aborting.addEventListener('abort', resolve));
    aborting.throwIfAborted();
  });
  const first = await start(handler, { drainTimeout: '0' });
  await schedule(first);
  await begun.promise;
  await first.stop();
  begun = signal();
  const second = await start(handler, { nodeName: 'n2' });
  await begun.promise;
  const { verdict } = await second.delays.cancel(NAME, KEY, { running: 'abort' });
  expect(verdict).toBe('cancelled');
  expect(await told(second)).toEqual([['cancelled', '1 released', '1 aborted']]);
  const [line] = await second.delays.history(NAME, KEY);
  expect(line?.attemptLog.map(({ node }) => node)).toEqual(['n1', 'n2']);
});

it('the last fifty are kept, and the beginning of each error', async () => {
  const node = await start(
    plainHandler(NAME, ({ attempt }) => {
      throw new Error(`${attempt} `.padEnd(3_000, 'x'));
    }),
  );
  const dead = node.next('dead');
  await schedule(node, { maxAttempts: 53 });
  await dead;
  const log = (await node.delays.find(NAME, KEY))!.attemptLog;
  expect(log.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 50 }, (_, n) => n + 4));
  for (const { attempt, error } of log) {
    expect(error).toHaveLength(1_000);
    expect(error).toMatch(new RegExp(`^Error: ${attempt} x`));
  }
});

it('none are kept unless the module says so', async () => {
  const node = await start(plainHandler(NAME, failsFirst()), { history: { keep: '1h' } });
  const retrying = node.next('retrying');
  await schedule(node);
  await retrying;
  expect(await atEnd(node)).toEqual([['completed']]);
  const rows = await stage.sql('SELECT FROM delay_queue.history WHERE attempt_log IS NOT NULL');
  expect(rows).toEqual([]);
});
