import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ManualRuns } from '../../../src/delay-queue/core/worker/manual-runs.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';

/** What was done, in order. */
let done: string[];
/** What waits in the queue. */
let waiting: Set<number>;
let heldMs: number;
/** Runs what waits, while the queue is waited for. */
let runs: () => void;
let manual: ManualRuns;
let isClaiming: boolean;

const wake = (id: number): Wake => ({ id }) as Wake;

beforeEach(() => {
  [done, waiting, heldMs, isClaiming] = [[], new Set(), Infinity, false];
  runs = () => waiting.clear();
  const says = (what: string) => async (): Promise<void> => void done.push(what);
  manual = new ManualRuns(
    {
      loader: { join: says('join') },
      throttles: {
        clear: () => {
          done.push('clear');
        },
        leftMs: () => heldMs,
      },
      queue: {
        open: () => done.push('open'),
        shut: () => done.push('shut'),
        offer: ({ id }: Wake) => waiting.add(id),
        disarm: (id: number) => {
          done.push(`disarm ${id}`);
          waiting.delete(id);
        },
        whenEmpty: async () => runs(),
        get isEmpty() {
          return waiting.size === 0;
        },
      },
      loop: {
        get isClaiming() {
          return isClaiming;
        },
        whenAnswered: says('answered'),
      },
      jobs: { runningCount: 0, whenIdle: says('idle') },
      completer: { size: 0, drain: says('drained') },
      reruns: { pass: says('reruns') },
      declarations: { sayAgain: says('say again') },
    } as never,
    { wipe: async (atMs: number | undefined) => void done.push(`wipe ${atMs}`) } as never,
  );
});

it('what is handed in runs, with what was known of limits forgotten, and reruns come after it', async () => {
  // A limit is about others, which are not handed in.
  heldMs = 500;
  expect(await manual.run([wake(1), wake(2)])).toBe(Infinity);
  const way = ['join', 'clear', 'open', 'shut', 'answered', 'idle', 'drained', 'reruns'];
  expect(done).toEqual(way);
});

it('what a limit holds back is taken out again, and when its time comes is told', async () => {
  runs = () => void waiting.delete(1);
  heldMs = 500;
  expect(await manual.run([wake(1), wake(2)])).toBe(500);
  expect([done.filter((what) => what.startsWith('disarm')), waiting.size]).toEqual([
    ['disarm 1', 'disarm 2'],
    0,
  ]);
});

it('that the application closes is told, and nothing is handed in any more', async () => {
  runs = () => manual.end();
  await expect(manual.run([wake(1)])).rejects.toMatchObject({ code: 'DELAY_SHUTDOWN' });
  waiting.clear();
  done.length = 0;
  await expect(manual.run([wake(2)])).rejects.toMatchObject({ code: 'DELAY_SHUTDOWN' });
  expect([done, waiting.size, manual.isOver]).toEqual([['clear'], 0, true]);
});

it('a test that begins anew removes all, and what recurs is declared again', async () => {
  await manual.clear(7);
  expect(done).toEqual(['wipe 7', 'say again']);
});

describe('what does not run for three seconds', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('is given up, as a transaction may hold it', async () => {
    runs = () => jest.advanceTimersByTime(3_001);
    await expect(manual.run([wake(1)])).rejects.toMatchObject({ code: 'DELAY_UNSTABLE' });
    expect(waiting.size).toBe(0);
  });

  it('is waited for while a claim is in flight: a server that stalls holds no row', async () => {
    const rounds = [
      (): void => {
        jest.advanceTimersByTime(3_001);
        isClaiming = true;
      },
      (): void => {
        isClaiming = false;
        heldMs = 500;
      },
    ];
    runs = () => rounds.shift()?.();
    expect(await manual.run([wake(1)])).toBe(500);
  });
});
