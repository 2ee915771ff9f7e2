import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents, type DelayQueueOptions } from 'nestjs-delay-queue';
import type { HistoryKeep } from '../../../src/delay-queue/core/config/options.js';
import { resolveOptions } from '../../../src/delay-queue/core/config/options.js';
import { FIRST_PAGE, type PagePosition } from '../../../src/delay-queue/core/store/rows/answers.js';
import { historyWalk, Pruner, createPruners } from '../../../src/delay-queue/core/worker/pruner.js';
import { Idle } from '../../../src/delay-queue/core/tasks/recurring-task.js';
import type { NodeStore } from '../../../src/delay-queue/core/store/node.store.js';

const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
const BATCH = 5_000;

/** When each statement was sent, and how many it might delete. */
let asked: [atMs: number, limit: number][];
/** What the next statements delete; when none is left, nothing. */
let script: (number | Error)[];
let stops: (() => Promise<void>)[];

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  jest.spyOn(Math, 'random').mockReturnValue(0);
  [asked, script, stops] = [[], [], []];
});

afterEach(async () => {
  await Promise.all(stops.map((stop) => stop()));
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

async function begin(): Promise<void> {
  const pruner = new Pruner(
    async (limit) => {
      asked.push([performance.now(), limit]);
      const pruned = script.shift() ?? 0;
      if (pruned instanceof Error) throw pruned;
      return pruned;
    },
    EVERY_MS,
    new DelayEvents(),
  );
  stops.push(() => pruner.stop());
  pruner.start();
  await pass(EVERY_MS / 2);
}

const times = (): number[] => asked.map(([atMs]) => atMs - asked[0]![0]);

it('goes on soon after a batch that was exactly full, and else when it is time', async () => {
  script = [BATCH, BATCH, BATCH - 1];
  await begin();
  expect(asked).toEqual([[EVERY_MS / 2, BATCH]]);
  await pass(2 * EVERY_MS);
  expect(times()).toEqual([0, 200, 400, 400 + EVERY_MS]);
});

it('asks for less at once when a statement was too much', async () => {
  script = [Object.assign(new Error('timeout'), { code: '57014' })];
  await begin();
  await pass(2);
  expect(asked.map(([, limit]) => limit)).toEqual([BATCH, BATCH / 2]);
});

it('each kind has its own age and pace, and leaves no timer', async () => {
  const calls: string[] = [];
  const told =
    (what: string) =>
    async (...given: unknown[]): Promise<number> => {
      calls.push([what, ...given].join(' '));
      return 0;
    };
  const methods = ['forget', 'forgetPermits'].map((method) => [method, told(method)]);
  const prune = async ({ keepMs, isAbandoned }: HistoryKeep, _: unknown, limit: number) => {
    await told(isAbandoned ? 'abandoned' : 'prune')(keepMs, limit);
    return { count: 0, read: 0, end: FIRST_PAGE };
  };
  const store = Object.fromEntries([...methods, ['prune', prune]]) as NodeStore;
  const begins = (history: DelayQueueOptions['history']): void => {
    const options = resolveOptions({ history });
    const pruners = createPruners({
      nodeStore: store,
      options,
      events: new DelayEvents(),
      idle: new Idle(null),
    });
    stops.push(...pruners.map((pruner) => () => pruner.stop()));
    for (const pruner of pruners) pruner.start();
  };
  begins({ keep: '7h', names: { 'test.a': '1h', 'test.b': '1h', 'test.c': '7h', 'test.d': '2h' } });
  await pass(30_000);
  const day = 24 * HOUR_MS;
  expect(calls.toSorted((a, b) => a.localeCompare(b))).toEqual([
    `forget abort ${HOUR_MS} ${BATCH}`,
    `forget node ${day} ${BATCH}`,
    `forget pause ${day} ${BATCH}`,
    `forget quota ${2 * day} ${BATCH}`,
    `forgetPermits ${BATCH}`,
    `prune ${7 * HOUR_MS} ${BATCH}`,
    `prune ${HOUR_MS} ${BATCH}`,
    `prune ${2 * HOUR_MS} ${BATCH}`,
  ]);
  calls.length = 0;
  await pass(HOUR_MS);
  expect(calls.filter((call) => call.startsWith('prune'))).toHaveLength(180);
  expect(calls).toHaveLength(185);
  await Promise.all(stops.map((stop) => stop()));
  expect(jest.getTimerCount()).toBe(0);
  calls.length = 0;
  begins(false);
  await pass(30_000);
  expect(calls).toContain(`abandoned ${day} ${BATCH}`);
});

it('history is walked once, then goes on where it ended, and is walked again after a day', async () => {
  const from: PagePosition[] = [];
  const pages = [
    ['1', '1', '0'],
    ['2', '2', '0'],
  ];
  const prune: NodeStore['prune'] = async (_, behind, limit) => {
    from.push(behind);
    const end = pages.shift();
    return { count: 0, read: end === undefined ? 0 : limit, end: end ?? behind };
  };
  const keep = { keepMs: HOUR_MS, names: ['a'], areOthers: false, isAbandoned: false };
  const walk = historyWalk({ prune } as NodeStore, keep);
  for (let page = 0; page < 4; page += 1) await walk(BATCH);
  expect(from).toEqual([FIRST_PAGE, ['1', '1', '0'], ['2', '2', '0'], ['2', '2', '0']]);
  await pass(25 * HOUR_MS);
  await walk(BATCH);
  await walk(BATCH);
  expect(from.slice(4)).toEqual([['2', '2', '0'], FIRST_PAGE]);
});
