import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { OnDeadDelay, OnDelay, RepeatDelay } from 'nestjs-delay-queue';
import { plainHandler, signal } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';
import { OtherNode } from '../../support/other-node.js';
import { until } from '../../support/until.js';
import { startTested } from '../testing/support/tested.js';
import { KEPT, times, told } from './support/told.js';

/** What becomes of the log of a delay that others end, or whose process died. */
const NAME = 'test.logged';
const KEY = 'k';
const SLOT = { name: NAME, key: KEY } as const;
const HOUR_MS = 3_600_000;
const FAILED = '1 failed: Error: no';

const node = new OneNode({ options: { ...KEPT, worker: false } });

const start = (handler: Type, options = {}) =>
  node.start({ providers: [handler], options: { ...KEPT, ...options } });

const other = (kept: 'attempts' | 'ends' = 'attempts') =>
  new OtherNode(node.dataSource, 'killed', { kept });

const schedule = (after: 0 | '1h' = 0) => node.delays.schedule(NAME, null, { after, key: KEY });

const ended = (lines = 1) =>
  until(
    () => node.delays.history(NAME, KEY),
    ({ length }) => length === lines,
  );

const fail = (): never => {
  throw new Error('no');
};

it.each<[string, () => Promise<unknown>, string[][]]>([
  ['cancel', () => node.delays.cancel(NAME, KEY), [['cancelled', FAILED]]],
  ['cancelMany', () => node.delays.cancelMany([SLOT]), [['cancelled', FAILED]]],
  ['admin.cancel', () => node.admin.cancel({ name: NAME }), [['cancelled', FAILED]]],
  ['reschedule', () => node.delays.reschedule(NAME, KEY, { after: '1h' }), [['scheduled', FAILED]]],
  ['runNow', () => node.admin.runNow([SLOT]), [['retrying', FAILED]]],
  ['schedule, which begins anew', () => schedule('1h'), [['scheduled']]],
])('an attempt that failed stays told by %s', async (_, end, stories) => {
  await other().claimAndFail((await schedule()).id, 60_000);
  await end();
  expect(await told(node)).toEqual(stories);
});

it.each<[string, () => Promise<unknown>, string[][]]>([
  ['cancel', () => node.delays.cancel(NAME, KEY), [['discarded', FAILED]]],
  ['discardDead', () => node.admin.discardDead({ name: NAME }), [['discarded', FAILED]]],
  ['retryDead', () => node.admin.retryDead({ name: NAME }), [['scheduled', FAILED]]],
  ['schedule', () => schedule('1h'), [['discarded', FAILED], ['scheduled']]],
])('that of a dead letter stays told by %s', async (_, end, stories) => {
  await other().claimAndFail((await schedule()).id, null);
  await end();
  expect(await told(node)).toEqual(stories);
});

describe('an attempt of which nobody wrote the end is lost', () => {
  it('when another node takes over, and when its delay is cancelled', async () => {
    const { id } = await schedule();
    await other().claimAndDie(id);
    expect(await told(node)).toEqual([['retrying', '1 lost']]);
    await other().claimAndFail(id, 0);
    await other().claimAndDie(id);
    await node.delays.cancel(NAME, KEY);
    const lines = ['1 lost', '2 failed: Error: no', '3 lost'];
    expect(await told(node)).toEqual([['cancelled', ...lines]]);
    const [lost] = (await node.delays.history(NAME, KEY))[0]!.attemptLog;
    expect(lost).toMatchObject({ node: 'killed', endedAt: null, startedAt: expect.any(Date) });
  });

  it('when it was the last, and the dead letter is found', async () => {
    const { id } = await schedule();
    const { epoch } = await other().claimAndDie(id);
    const row = { id: Number(id), epoch, leaseMs: 1, maxAttempts: 1 };
    await other().store.deadLetter([row], 'no attempt is left');
    expect(await told(node)).toEqual([['dead', '1 lost']]);
  });
});

describe('with @OnDeadDelay', () => {
  let deaths = 0;

  class Mortal {
    @OnDelay(NAME, { maxAttempts: 1 })
    run(): void {
      fail();
    }

    @OnDeadDelay(NAME)
    dead(): void {
      deaths += 1;
      if (deaths === 1) throw new Error('not yet');
    }
  }

  it.each([
    ['is told once, as it ended', false, FAILED],
    ['that was lost is told as that', true, '1 lost'],
  ])('the last attempt %s', async (_, dies, line) => {
    deaths = 0;
    const { id } = await schedule();
    if (dies) await other().claimAndDie(id);
    const runs = await start(Mortal);
    await until(
      () => node.delays.find(NAME, KEY),
      (delay) => delay?.state === 'dead',
    );
    expect(deaths).toBe(2);
    expect(await told(node)).toEqual([['dead', line]]);
    await runs.stop();
  });
});

it('each occurrence of what recurs has its own', async () => {
  let calls = 0;
  class Recurring {
    @OnDelay(NAME, { maxAttempts: 2 })
    @RepeatDelay(NAME, { every: '1h', key: KEY, payload: null })
    run(): void {
      calls += 1;
      if (calls !== 2) fail();
    }
  }
  const runs = await start(Recurring);
  for (const lines of [1, 2]) {
    await node.admin.runNow([SLOT]);
    await ended(lines);
  }
  expect(await told(node)).toEqual([
    ['completed', FAILED, '2 completed'],
    ['discarded', FAILED, '2 failed: Error: no'],
    ['scheduled'],
  ]);
  await runs.stop();
});

it('an attempt that a shutdown gives back, and one that is aborted, are told', async () => {
  let begun = signal();
  const handler = plainHandler(NAME, async (_, { signal: aborting }) => {
    begun.resolve();
    await new Promise((resolve) => aborting.addEventListener('abort', resolve));
    aborting.throwIfAborted();
  });
  const first = await start(handler, { nodeName: 'n1', drainTimeout: '0' });
  await schedule();
  await begun.promise;
  await first.stop();
  begun = signal();
  const second = await start(handler, { nodeName: 'n2' });
  await begun.promise;
  await node.delays.cancel(NAME, KEY, { running: 'abort' });
  expect(await told(node)).toEqual([['cancelled', '1 released', '1 aborted']]);
  const [line] = await node.delays.history(NAME, KEY);
  expect(line?.attemptLog.map(({ node: of }) => of)).toEqual(['n1', 'n2']);
  await second.stop();
});

it('a node that keeps none leaves those of others alone, and none are kept unless the module says so', async () => {
  const { id } = await schedule();
  await other().claimAndFail(id, 0);
  await other('ends').claimAndFail(id, 0);
  await other().claimAndFail(id, 60_000);
  expect(await told(node)).toEqual([['retrying', FAILED, '3 failed: Error: no']]);
  await node.delays.cancel(NAME, KEY);
  const runs = await start(
    plainHandler(NAME, ({ attempt }) => void (attempt === 1 && fail())),
    {
      history: {},
    },
  );
  await schedule();
  await ended(2);
  const logs = await node.sql('SELECT FROM delay_queue.history WHERE attempt_log IS NOT NULL');
  expect(logs).toHaveLength(1);
  await runs.stop();
});

it('time that passes in a test lies between them, too', async () => {
  const fails = plainHandler(NAME, ({ attempt }) => void (attempt === 1 && fail()));
  const backoff = { base: '1h', max: '1h', jitter: 0 };
  const { testing, ...tested } = await startTested(node, {
    providers: [fails],
    options: { ...KEPT, backoff },
  });
  await schedule();
  await testing.drain();
  const [failed] = (await node.delays.find(NAME, KEY))!.attemptLog;
  await testing.advance('1h');
  await testing.advance('1h');
  const [line] = await node.delays.history(NAME, KEY);
  const [start1, end1, start2, end2] = times(line!.attemptLog);
  expect(start1).toBe(failed!.startedAt.getTime());
  expect(start2! - end1!).toBeGreaterThanOrEqual(HOUR_MS);
  expect(end2).toBe(line!.endedAt.getTime());
  await tested.stop();
});
