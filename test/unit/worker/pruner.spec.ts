import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Pruner, prunersOf } from '../../../src/delay-queue/worker/pruner.js';
import type { NodeStore } from '../../../src/delay-queue/store/node.store.js';

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
    async (...given: number[]): Promise<number> => {
      calls.push([what, ...given].join(' '));
      return 0;
    };
  const kinds = ['prune', 'pruneAbandoned', 'forgetNodes', 'forgetPauses', 'forgetQuotas'];
  const methods = [...kinds, 'forgetPermits'].map((kind) => [kind, told(kind)]);
  const store = Object.fromEntries(methods) as NodeStore;
  const begins = (keepMs: number | null): void => {
    const pruners = prunersOf(store, keepMs, new DelayEvents());
    stops.push(...pruners.map((pruner) => () => pruner.stop()));
    for (const pruner of pruners) pruner.start();
  };
  begins(7 * HOUR_MS);
  await pass(30_000);
  const day = 24 * HOUR_MS;
  expect(calls.toSorted((a, b) => a.localeCompare(b))).toEqual([
    `forgetNodes ${day} ${BATCH}`,
    `forgetPauses ${day} ${BATCH}`,
    `forgetPermits ${BATCH}`,
    `forgetQuotas ${2 * day} ${BATCH}`,
    `prune ${7 * HOUR_MS} ${BATCH}`,
  ]);
  calls.length = 0;
  await pass(HOUR_MS);
  expect(calls.filter((call) => call.startsWith('prune'))).toHaveLength(60);
  expect(calls).toHaveLength(64);
  await Promise.all(stops.map((stop) => stop()));
  expect(jest.getTimerCount()).toBe(0);
  calls.length = 0;
  begins(null);
  await pass(30_000);
  expect(calls).toContain(`pruneAbandoned ${day} ${BATCH}`);
});
