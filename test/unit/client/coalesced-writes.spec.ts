import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { CoalescedWrites } from '../../../src/delay-queue/core/client/coalesced-writes.js';
import type { DelayStore } from '../../../src/delay-queue/core/store/delay.store.js';
import type { Runner } from '../../../src/delay-queue/core/database/runner.js';

const LIMIT_MS = 15_000;

let codes: Record<string, unknown>;
let writes: CoalescedWrites;

const silent: Runner = { query: () => new Promise(() => {}) };

beforeEach(() => {
  jest.useFakeTimers();
  codes = {};
  const store = { cancelTogether: (runner: Runner) => runner.query('', []) };
  writes = new CoalescedWrites(
    store as unknown as DelayStore,
    { writes: silent, together: silent, limitMs: LIMIT_MS },
    { drainTimeoutMs: 0, installation: { schema: 'delay_queue', clock: 'database' } },
  );
});

afterEach(async () => {
  await writes.close();
  jest.useRealTimers();
});

const cancel = (call: string, key: string): void =>
  void writes.cancel({ name: 'test.a', key }).catch((error: { code?: unknown }) => {
    codes[call] = error.code;
  });

it('each call has its answer within its limit, wherever it waited: for a statement, or behind a call about its key', async () => {
  for (const key of ['first', 'second']) {
    cancel(key, key);
    await jest.advanceTimersByTimeAsync(0);
  }
  // Two statements are on their way: these gather, until one of the two gives up its place.
  cancel('gathered', 'third');
  cancel('in line', 'first');
  await jest.advanceTimersByTimeAsync(LIMIT_MS / 2);
  cancel('late in line', 'second');
  await jest.advanceTimersByTimeAsync(LIMIT_MS / 2 - 1);
  expect(codes).toEqual({});
  await jest.advanceTimersByTimeAsync(1);
  const unknown = 'DELAY_OUTCOME_UNKNOWN';
  expect(codes).toEqual({
    first: unknown,
    second: unknown,
    gathered: unknown,
    'in line': 'DELAY_UNAVAILABLE',
  });
  await jest.advanceTimersByTimeAsync(LIMIT_MS / 2);
  expect(codes['late in line']).toBe(unknown);
});
