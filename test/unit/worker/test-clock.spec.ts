import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../src/delay-queue/core/worker/test-clock.js';
import type {
  TestClockState,
  TestClockStore,
} from '../../../src/delay-queue/core/store/test-clock.store.js';

const REAL_MS = 1_900_000_000_000;
const STANDS_MS = 1_800_000_000_000;

/** What the schema has. */
let state: TestClockState;
let clock: TestClock;
let followed: number[];

beforeEach(() => {
  state = { databaseMs: REAL_MS, standsMs: null, isSet: false, aheadMs: 0 };
  followed = [];
  clock = new TestClock({
    read: async () => state,
    stand: async (standsMs: number, isSet: boolean) => {
      state = { ...state, standsMs, isSet, aheadMs: 0 };
    },
    flow: async (fromMs: number) => {
      state = { ...state, standsMs: null, aheadMs: fromMs - REAL_MS };
    },
    wipe: async () => {
      state = { databaseMs: REAL_MS, standsMs: null, isSet: false, aheadMs: 0 };
    },
  } as unknown as TestClockStore);
  clock.follow((nowMs) => followed.push(nowMs));
});

/** To the second: it flows while the test runs. */
const seconds = (ms: number): number => Math.floor(ms / 60_000);

describe('the clock of a node under test', () => {
  it('stands where a test says, and who follows it hears of that before anything else', async () => {
    await clock.read();
    expect([clock.isSet, followed]).toEqual([false, []]);
    await clock.stand(STANDS_MS, true);
    expect([clock.nowMs(), clock.isSet, followed]).toEqual([STANDS_MS, true, [STANDS_MS]]);
    expect(clock.afterReading(REAL_MS, 0)).toMatchObject({ readMs: REAL_MS });
    expect(clock.afterReading(REAL_MS, 0).leastMs()).toBe(STANDS_MS);
    await clock.stand(STANDS_MS + 1);
    expect(clock.isSet).toBe(true);
  });

  it('flows on from where it stood', async () => {
    await clock.stand(STANDS_MS, true);
    await clock.flow();
    expect(seconds(clock.nowMs())).toBe(seconds(STANDS_MS));
    expect(seconds(followed.at(-1)!)).toBe(seconds(STANDS_MS));
    expect(followed).toHaveLength(2);
    const inMs = clock.toMonotonicMs(clock.nowMs() + 60_000) - performance.now();
    expect(seconds(Math.round(inMs / 1_000) * 1_000)).toBe(1);
  });

  it('is the database’s again when all is wiped, and who follows it hears of that', async () => {
    await clock.stand(STANDS_MS, true);
    await clock.wipe(undefined);
    expect(seconds(clock.nowMs())).toBe(seconds(REAL_MS));
    expect(followed.map(seconds)).toEqual([seconds(STANDS_MS), seconds(REAL_MS)]);
    await clock.wipe(STANDS_MS);
    expect([clock.nowMs(), clock.isSet, followed.at(-1)]).toEqual([STANDS_MS, true, STANDS_MS]);
  });

  it('takes no news from statements, and who has stopped to follow hears no more', async () => {
    const unfollow = clock.follow(() => followed.push(0));
    unfollow();
    await clock.stand(STANDS_MS, true);
    clock.sample();
    expect([clock.nowMs(), followed]).toEqual([STANDS_MS, [STANDS_MS]]);
  });
});
