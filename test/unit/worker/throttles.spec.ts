import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { Throttles } from '../../../src/delay-queue/core/worker/limits.js';
import type { LimitLeft } from '../../../src/delay-queue/core/store/limit.store.js';
import { groupNumber } from '../../../src/delay-queue/core/store/rows/attempt-rows.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';

const NAME = 'test.limited';
const FULL: LimitLeft = { name: NAME, group: 'g', slots: 0, waitMs: 0 };

let names: NameStates;
let blocks: Throttles;
/** Groups of the limits that were reported to have ended. */
let ended: string[];
let vacant: number;
let onVacant: () => void;

const to = {
  throttleEnded: ({ group }: { group: string }) => ended.push(group),
  vacant: () => {
    vacant += 1;
    onVacant();
  },
};

const wheel = new WheelService();
afterAll(() => wheel.onApplicationShutdown());

beforeEach(() => {
  [ended, vacant, onVacant] = [[], 0, () => {}];
  names = nameStates();
  blocks = new Throttles(wheel, names, to);
});

/** What a claim learns during which attempts of these groups were over. */
function learn(left: LimitLeft, freed: (string | null)[] = []): void {
  blocks.ask();
  for (const group of freed) blocks.freed(NAME, group);
  blocks.learn([left]);
  blocks.answered();
}

const throttledBy = (group: string | null = 'g', name = NAME) => {
  const isThrottled = (key: string): boolean =>
    names.of(name).throttledUntilMs(key) > blocks.nowMs();
  if (blocks.isAsking || isThrottled('')) return 'name';
  return group !== null && isThrottled(group) ? 'group' : undefined;
};

it('while a claim is on its way, nobody else of a name with limits is asked for', () => {
  blocks.ask();
  expect(throttledBy()).toBe('name');
  blocks.answered();
  expect(throttledBy()).toBeUndefined();
});

it.each<[string, (string | null)[], 'group' | undefined]>([
  ['nobody', [], 'group'],
  ['one of another group', ['other'], 'group'],
  ['one without a group', [null], 'group'],
  ['one of the group', ['g'], undefined],
])('a group that is full is so after a claim during which %s was over', (_, freed, held) => {
  learn(FULL, freed);
  expect(throttledBy()).toBe(held);
  expect(throttledBy('other')).toBeUndefined();
});

it('what was over before a claim was asked for is known to it', () => {
  blocks.freed(NAME, 'g');
  learn(FULL);
  expect(throttledBy()).toBe('group');
  blocks.freed(NAME, 'g');
  expect(throttledBy()).toBeUndefined();
});

it('a rate is waited for, whoever ends, until time has passed as no clock tells', () => {
  learn({ ...FULL, waitMs: 60_000 });
  blocks.freed(NAME, 'g');
  expect(throttledBy()).toBe('group');
  const before = vacant;
  blocks.clear();
  expect([throttledBy(), vacant]).toEqual([undefined, before + 1]);
});

it('tells of each limit that is over, when its time has come, or an attempt, or a claim says so', async () => {
  const isVacant = new Promise<void>((resolve) => (onVacant = resolve));
  learn({ ...FULL, group: 'by a claim', waitMs: 60_000 });
  learn({ ...FULL, group: 'by time', waitMs: 5 });
  learn({ ...FULL, group: 'again', waitMs: 1 });
  learn({ ...FULL, group: 'again', waitMs: 60_000 });
  learn({ ...FULL, group: 'by an attempt' });
  await isVacant;
  expect(ended).toEqual(['by time']);
  expect(throttledBy('by time')).toBeUndefined();
  expect(throttledBy('again')).toBe('group');
  learn({ ...FULL, group: 'by a claim', slots: 1 });
  blocks.freed(NAME, 'by an attempt');
  expect(ended).toEqual(['by time', 'by a claim', 'by an attempt']);
});

it('of attempts elsewhere only the number of a group is known: all groups of that number are free', () => {
  learn(FULL);
  learn({ ...FULL, group: 'h' });
  learn({ ...FULL, group: '' });
  learn({ ...FULL, group: 'rate', waitMs: 60_000 });
  blocks.freedElsewhere(NAME, null);
  expect(ended).toEqual(['']);
  blocks.freedElsewhere('test.other', groupNumber('g'));
  blocks.freedElsewhere(NAME, groupNumber('rate'));
  expect(ended).toEqual(['']);
  const before = vacant;
  blocks.freedElsewhere(NAME, groupNumber('g'));
  expect([ended, throttledBy(), throttledBy('h'), vacant]).toEqual([
    ['', 'g'],
    undefined,
    'group',
    before + 1,
  ]);
});

it('what is free elsewhere while a claim is on its way is not full after it', () => {
  blocks.ask();
  blocks.freedElsewhere(NAME, groupNumber('g'));
  blocks.learn([FULL, { ...FULL, group: 'h' }]);
  blocks.answered();
  expect([throttledBy(), throttledBy('h')]).toEqual([undefined, 'group']);
  blocks.ask();
  blocks.learn([FULL]);
  blocks.answered();
  expect(throttledBy()).toBe('group');
});

it('a name without a place holds all of its groups back, and no other name', () => {
  learn({ ...FULL, group: '' });
  expect([throttledBy(), throttledBy(null), throttledBy('g', 'test.other')]).toEqual([
    'name',
    'name',
    undefined,
  ]);
  expect(throttledBy('other')).toBe('name');
});

it('what is left of the first limit is told on the clock of its rates, and what is full is looked at again', () => {
  let nowMs = 1_000;
  blocks = new Throttles(wheel, names, to, () => nowMs);
  expect(blocks.leftMs()).toBe(Infinity);
  learn(FULL);
  expect(blocks.leftMs()).toBe(2_000);
  learn({ ...FULL, group: 'rate', waitMs: 300 });
  expect(blocks.leftMs()).toBe(300);
  nowMs += 299;
  expect([blocks.leftMs(), throttledBy('rate')]).toEqual([1, 'group']);
  nowMs += 1;
  expect([blocks.leftMs(), throttledBy('rate'), throttledBy()]).toEqual([0, undefined, 'group']);
  nowMs += 5_000;
  expect([blocks.leftMs(), throttledBy()]).toEqual([0, undefined]);
});

it('of more than it may know it lets the oldest go', () => {
  for (let n = 0; n <= 200_000; n += 1) learn({ ...FULL, group: `g${n}`, waitMs: 60_000 });
  expect(ended).toEqual(['g0']);
  expect(throttledBy('g1')).toBe('group');
});
