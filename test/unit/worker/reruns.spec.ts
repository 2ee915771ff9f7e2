import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Reruns } from '../../../src/delay-queue/core/worker/reruns.js';
import type {
  Rerun,
  RerunPlaced,
  RerunStore,
} from '../../../src/delay-queue/core/store/rerun.store.js';
import { Idle } from '../../../src/delay-queue/core/tasks/recurring-task.js';

const EVERY_MS = 3_600_000;
const PAGE = 1_000;

/** What is kept, by key; `runs`: its run has not ended. `held`: another session has its key for now. */
let kept: Map<string, 'runs' | 'over' | 'held' | 'refused'>;
let looks: number[];
let placed: string[];
let reruns: Reruns;
let idle: Idle;

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [kept, looks, placed] = [new Map(), [], []];
  const store = {
    all: async (_: unknown, limit: number) => {
      looks.push(performance.now());
      const all = [...kept].slice(0, limit);
      return all.map(([key, how]) => ({ key, isOver: how !== 'runs' }));
    },
    place: async (_: unknown, { key }: { key: string }) => {
      const how = kept.get(key);
      if (how === 'held') throw Object.assign(new Error('held'), { code: '55P03' });
      if (how === 'refused') throw new Error('refused');
      kept.delete(key);
      return { wake: { key } } as unknown as RerunPlaced;
    },
  } as unknown as RerunStore & { all: () => Promise<Rerun[]> };
  idle = new Idle(EVERY_MS);
  const options = { loadEveryMs: EVERY_MS };
  reruns = new Reruns(
    { options, events: new DelayEvents(), idle } as never,
    ({ wake }) => placed.push((wake as unknown as { key: string }).key),
    store,
  );
});

afterEach(async () => {
  await reruns.stop();
  jest.useRealTimers();
});

async function start(): Promise<void> {
  reruns.start();
  await pass(1);
}

it('what is kept is placed when its run has ended, which is looked for each second until then', async () => {
  kept.set('one', 'runs').set('two', 'over');
  await start();
  expect(placed).toEqual(['two']);
  await pass(2_000);
  expect(looks).toHaveLength(3);
  kept.set('one', 'over');
  await pass(1_000);
  expect(placed).toEqual(['two', 'one']);
  await pass(EVERY_MS - 10_000);
  expect(looks).toHaveLength(4);
});

it('what a run ends here is looked for at once, if anything is kept', async () => {
  await start();
  reruns.ended();
  await pass(0);
  expect(looks).toHaveLength(1);
  kept.set('one', 'runs');
  reruns.runNow();
  await pass(0);
  expect(looks).toHaveLength(2);
  kept.set('one', 'over');
  reruns.ended();
  await pass(0);
  expect(placed).toEqual(['one']);
});

it('a page that is full is not the last: what is behind it waits a second', async () => {
  for (let n = 0; n < PAGE + 1; n += 1) kept.set(String(n), 'over');
  await start();
  expect(placed).toHaveLength(PAGE);
  await pass(1_000);
  expect(placed).toHaveLength(PAGE + 1);
});

it('one that is held, or refused, is in the way of no other', async () => {
  kept.set('held', 'held').set('refused', 'refused').set('free', 'over');
  await start();
  expect(placed).toEqual(['free']);
  kept.set('held', 'over').delete('refused');
  await pass(1_000);
  expect(placed).toEqual(['free', 'held']);
});
