import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Provider } from '@nestjs/common';
import { OnDeadDelay, OnDelay, RepeatDelay } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { OtherNode } from '../../support/other-node.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';
import { KEY, KEPT, NAME, times, told } from './support/told.js';

/** What becomes of the log of a delay that others end, or whose process died. */
let stage: Stage;
let node: DelayNode;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

async function start(providers: Provider[] = [], options = {}): Promise<void> {
  node = await stage.start({ providers, options: { ...KEPT, nodeName: 'n1', ...options } });
}

const other = (kept: 'attempts' | 'ends' = 'attempts') =>
  new OtherNode(node.dataSource, 'killed', { kept });

/** Of a name that no node runs. */
const schedule = (after: 0 | '1h' = 0) => node.delays.schedule(NAME, null, { after, key: KEY });

const FAILED = '1 failed: Error: no';

/** One that failed once, and waits. */
async function retrying(): Promise<string> {
  const { id } = await schedule();
  await other().claimAndFail(id, 60_000);
  return id;
}

describe('an attempt that failed stays told', () => {
  beforeEach(() => start());

  it.each<[string, () => Promise<unknown>, string[][]]>([
    ['cancel', () => node.delays.cancel(NAME, KEY), [['cancelled', FAILED]]],
    [
      'cancelMany',
      () => node.delays.cancelMany([{ name: NAME, key: KEY }]),
      [['cancelled', FAILED]],
    ],
    ['admin.cancel', () => node.admin.cancel({ name: NAME }), [['cancelled', FAILED]]],
    [
      'reschedule',
      () => node.delays.reschedule(NAME, KEY, { after: '1h' }),
      [['scheduled', FAILED]],
    ],
    ['runNow', () => node.admin.runNow([{ name: NAME, key: KEY }]), [['retrying', FAILED]]],
    ['schedule, which begins anew', () => schedule('1h'), [['scheduled']]],
  ])('by %s', async (_, end, stories) => {
    await retrying();
    await end();
    expect(await told(node)).toEqual(stories);
  });

  it.each<[string, () => Promise<unknown>, string[][]]>([
    ['cancel', () => node.delays.cancel(NAME, KEY), [['discarded', FAILED]]],
    ['discardDead', () => node.admin.discardDead({ name: NAME }), [['discarded', FAILED]]],
    ['retryDead', () => node.admin.retryDead({ name: NAME }), [['scheduled', FAILED]]],
    ['schedule', () => schedule('1h'), [['discarded', FAILED], ['scheduled']]],
  ])('of a dead letter, by %s', async (_, end, stories) => {
    const { id } = await schedule();
    await other().claimAndFail(id, null);
    await end();
    expect(await told(node)).toEqual(stories);
  });
});

describe('an attempt of which nobody wrote the end is lost', () => {
  it('when another node takes over', async () => {
    await start();
    const { id } = await schedule();
    await other().claimAndDie(id);
    expect(await told(node)).toEqual([['retrying', '1 lost']]);
    await other().claimAndFail(id, 60_000);
    await node.delays.cancel(NAME, KEY);
    expect(await told(node)).toEqual([['cancelled', '1 lost', '2 failed: Error: no']]);
    const [lost] = (await node.delays.history(NAME, KEY))[0]!.attemptLog;
    expect(lost).toMatchObject({ node: 'killed', endedAt: null, startedAt: expect.any(Date) });
  });

  it('when it was the last, and the dead letter is found', async () => {
    await start();
    const { id } = await schedule();
    const { epoch } = await other().claimAndDie(id);
    await other().store.deadLetter(
      [{ id: Number(id), epoch, leaseMs: 1, maxAttempts: 1 }],
      'no attempt is left',
    );
    expect(await told(node)).toEqual([['dead', '1 lost']]);
  });

  it('when its delay is cancelled', async () => {
    await start();
    await other().claimAndDie((await schedule()).id);
    await node.delays.cancel(NAME, KEY);
    expect(await told(node)).toEqual([['cancelled', '1 lost']]);
  });
});

describe('with @OnDeadDelay', () => {
  const deaths: string[] = [];

  class Mortal {
    @OnDelay(NAME, { maxAttempts: 1 })
    run(): void {
      throw new Error('no');
    }

    @OnDeadDelay(NAME)
    dead(): void {
      deaths.push(NAME);
      if (deaths.length === 1) throw new Error('not yet');
    }
  }

  beforeEach(() => {
    deaths.length = 0;
  });

  it('the last attempt is told once, as it ended', async () => {
    await start([Mortal]);
    const dead = node.next('dead');
    await schedule();
    await dead;
    expect(deaths).toHaveLength(2);
    expect(await told(node)).toEqual([['dead', FAILED]]);
  });

  it('an attempt that was lost is told as that', async () => {
    await start();
    const { id } = await schedule();
    await other().claimAndDie(id);
    const runs = await stage.start({ providers: [Mortal], options: KEPT });
    await runs.next('dead');
    expect(await told(node)).toEqual([['dead', '1 lost']]);
  });
});

it('each occurrence of what recurs has its own', async () => {
  let calls = 0;
  class Recurring {
    @OnDelay(NAME, { maxAttempts: 2 })
    @RepeatDelay(NAME, { every: '1h', key: KEY, payload: null })
    run(): void {
      calls += 1;
      if (calls !== 2) throw new Error('no');
    }
  }
  await start([Recurring]);
  for (const lines of [1, 2]) {
    await node.admin.runNow([{ name: NAME, key: KEY }]);
    await until(
      () => node.delays.history(NAME, KEY),
      ({ length }) => length === lines,
    );
  }
  expect(await told(node)).toEqual([
    ['completed', FAILED, '2 completed'],
    ['discarded', FAILED, '2 failed: Error: no'],
    ['scheduled'],
  ]);
});

it('a node that keeps none leaves those of others alone', async () => {
  await start();
  const id = await retrying();
  await stage.sql('UPDATE delay_queue.delay SET wake_at = due_at');
  await other('ends').claimAndFail(id, 0);
  await other().claimAndFail(id, 60_000);
  expect(await told(node)).toEqual([['retrying', FAILED, '3 failed: Error: no']]);
});

it('time that passes in a test makes them older, too', async () => {
  const fails = plainHandler(NAME, ({ attempt }) => {
    if (attempt === 1) throw new Error('no');
  });
  await start([fails], { worker: 'manual', backoff: { base: '1h', max: '1h', jitter: 0 } });
  const testing = DelayTesting.of(node.app);
  await schedule();
  await testing.drain();
  const [failed] = (await node.delays.find(NAME, KEY))!.attemptLog;
  await testing.advance('1h');
  await testing.advance('1h');
  const [line] = await node.delays.history(NAME, KEY);
  const [start1, end1, start2, end2] = times(line!.attemptLog);
  expect(failed!.startedAt.getTime() - start1!).toBeGreaterThanOrEqual(2 * 3_600_000);
  expect(start2! - end1!).toBeGreaterThanOrEqual(3_590_000);
  expect(end2).toBe(line!.endedAt.getTime());
});
