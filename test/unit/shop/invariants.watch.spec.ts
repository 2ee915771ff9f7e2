import { afterEach, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InvariantsService } from '../../../src/shop/invariants/invariants.service.js';
import { InvariantsWatch } from '../../../src/shop/invariants/invariants.watch.js';

const at = new Date('2026-01-01T00:00:00Z');
let passedMs = 0;

/** A check takes a second unless told otherwise, by a clock that stands still otherwise. */
function watched({ fails = false, takesMs = 1_000 } = {}) {
  passedMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => passedMs);
  const check = jest.fn(async () => {
    passedMs += takesMs;
    if (fails) throw new Error('the database is away');
    return { ok: true, checks: [] };
  });
  const watch = new InvariantsWatch({ check } as unknown as InvariantsService);
  const keepUp = async (): Promise<number> => {
    watch.keepUp(at);
    await nextTurn();
    return check.mock.calls.length;
  };
  return { watch, keepUp };
}

afterEach(() => void jest.restoreAllMocks());

it('knows nothing before the first check, and when it was made after it', async () => {
  const { watch, keepUp } = watched();
  expect(watch.latest).toBeNull();
  await keepUp();
  expect(watch.latest).toEqual({ ok: true, checks: [], checkedAt: at.toISOString() });
});

it.each([
  ['begins again after two seconds at least', 1, 2_000],
  ['takes a fiftieth of the time at most', 1_000, 49_000],
  ['begins again after ten minutes at most: what took for ever was waiting', 60_000, 600_000],
])('%s', async (_, takesMs, pauseMs) => {
  const { keepUp } = watched({ takesMs });
  expect(await keepUp()).toBe(1);
  passedMs = takesMs + pauseMs - 1;
  expect(await keepUp()).toBe(1);
  passedMs = takesMs + pauseMs;
  expect(await keepUp()).toBe(2);
});

it('tries again soon what failed, and keeps what it knows', async () => {
  const { watch, keepUp } = watched({ fails: true });
  expect(await keepUp()).toBe(1);
  expect(watch.latest).toBeNull();
  passedMs += 2_000;
  expect(await keepUp()).toBe(2);
});

it('begins nothing once it is over', async () => {
  const { watch, keepUp } = watched();
  await watch.onModuleDestroy();
  expect(await keepUp()).toBe(0);
});
