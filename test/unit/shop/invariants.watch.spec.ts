import { afterEach, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InvariantsService } from '../../../src/shop/invariants/invariants.service.js';
import { InvariantsWatch } from '../../../src/shop/invariants/invariants.watch.js';

const at = new Date('2026-01-01T00:00:00Z');
let passedMs = 0;

/** A check takes a second, by a clock that stands still otherwise. */
function watched(fails = false) {
  passedMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => passedMs);
  const check = jest.fn(async () => {
    passedMs += 1_000;
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

it('takes a fiftieth of the time at most', async () => {
  const { keepUp } = watched();
  expect(await keepUp()).toBe(1);
  passedMs = 49_999;
  expect(await keepUp()).toBe(1);
  passedMs = 50_000;
  expect(await keepUp()).toBe(2);
});

it('tries again soon what failed, and keeps what it knows', async () => {
  const { watch, keepUp } = watched(true);
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
