import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type DelayContext, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { plainHandler, signal } from '../../support/delay-node.js';
import { ABORT, TwoNodes } from './support/two-nodes.js';

const NAME = 'test.plain';
const KEY = 'k';
/** Shorter than any handler here. */
const BRIEFLY = { running: 'abort', abortWithin: 300 } as const;

const two = new TwoNodes();

/** What its one handler does in each attempt, once the first has begun. */
async function begin(run: (ctx: DelayContext, attempt: number) => Promise<void>): Promise<void> {
  const begun = signal();
  await two.start([
    plainHandler(NAME, ({ attempt }, ctx) => {
      const ended = run(ctx, attempt);
      begun.resolve();
      return ended;
    }),
  ]);
  await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
  await begun.promise;
}

const cancel = (how: typeof ABORT | typeof BRIEFLY) => two.asks.delays.cancel(NAME, KEY, how);

const giveUp = async ({ signal: aborted }: DelayContext): Promise<void> => {
  await once(aborted, 'abort');
  aborted.throwIfAborted();
};

it('a plain attempt that gives up is cancelled, when it has ended', async () => {
  let hasEnded = false;
  await begin(async (ctx) => {
    await giveUp(ctx).finally(() => {
      hasEnded = true;
    });
  });
  expect(await cancel(ABORT)).toMatchObject({ verdict: 'cancelled' });
  expect(hasEnded).toBe(true);
  expect(await two.ends(NAME, KEY)).toEqual(['cancelled']);
  expect(await two.toldOf(1)).toEqual([['aborted', KEY]]);
});

it.each([
  ['PostponeDelay', () => new PostponeDelay('1h'), 'cancelled'],
  ['DiscardDelay', () => new DiscardDelay('not wanted'), 'discarded'],
] as const)('one that gives up with %s is cancelled', async (_, thrown, end) => {
  await begin(async ({ signal: aborted }) => {
    await once(aborted, 'abort');
    throw thrown();
  });
  expect(await cancel(ABORT)).toMatchObject({ verdict: 'cancelled' });
  expect(await two.ends(NAME, KEY)).toEqual([end]);
});

it('one that ends its work all the same is absent: nothing is taken back from it', async () => {
  await begin(async ({ signal: aborted }) => {
    await once(aborted, 'abort');
    await two.sql('INSERT INTO effect VALUES ($1)', [KEY]);
  });
  expect(await cancel(ABORT)).toEqual({ verdict: 'absent' });
  expect(await two.effects()).toEqual([KEY]);
  expect(await two.toldOf(1)).toEqual([['completed', KEY]]);
});

it('one that does not heed its signal is running, and goes on as if nobody had asked', async () => {
  const goOn = signal();
  await begin(() => goOn.promise);
  const completed = two.runs.next('completed');
  expect(await cancel(BRIEFLY)).toMatchObject({ verdict: 'running' });
  expect(await two.asks.delays.find(NAME, KEY)).toMatchObject({ state: 'running', attempts: 1 });
  goOn.resolve();
  expect(await completed).toMatchObject({ attempt: 1 });
  expect(await two.ends(NAME, KEY)).toEqual(['completed']);
});

it('one that gives up when nobody waits any more runs again, and has spent no attempt', async () => {
  const goOn = signal();
  const attempts: number[] = [];
  await begin(async (_, attempt) => {
    attempts.push(attempt);
    if (attempts.length > 1) return;
    await goOn.promise;
    throw new Error('too late');
  });
  const completed = two.runs.next('completed');
  expect(await cancel(BRIEFLY)).toMatchObject({ verdict: 'running' });
  goOn.resolve();
  await completed;
  expect(attempts).toEqual([1, 1]);
  expect((await two.toldOf(2)).map(([event]) => event)).toEqual(['aborted', 'completed']);
});

it('one that was aborted and outlives its timeout has failed as usual', async () => {
  const never = signal();
  await two.start([plainHandler(NAME, () => never.promise, { timeout: 500, maxAttempts: 1 })]);
  const dead = two.runs.next('dead');
  await two.asks.delays.schedule(NAME, null, { after: 0, key: KEY });
  await two.runs.next('started');
  expect(await cancel({ ...BRIEFLY, abortWithin: 300 })).toMatchObject({ verdict: 'running' });
  expect(await dead).toMatchObject({ error: expect.stringContaining('DelayTimeoutError') });
  never.resolve();
});
