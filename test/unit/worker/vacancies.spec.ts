import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { HintFollower, reportVacancy } from '../../../src/delay-queue/core/worker/hint-follower.js';

let follower: HintFollower;
/** When blocks heard of which places, in milliseconds. */
let heard: [atMs: number, name: string, group: number | null][];

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  heard = [];
  follower = new HintFollower({
    throttles: {
      freedElsewhere: (name: string, group: number | null) => heard.push([Date.now(), name, group]),
    },
    nodes: { isShared: (name: string) => name !== 'of this node alone' },
    events: new DelayEvents(),
  } as never);
});
afterEach(() => {
  void follower.stop();
  jest.useRealTimers();
});

const tell = (name: string, groupNumber: number | null = null): void =>
  follower.follow({ kind: 'vacant', of: [{ name, groupNumber }] });

it.each([
  ['shared', null],
  ['shared', 'g'],
  ['of this node alone', null],
])(
  'the end of an attempt of a name %s is reported here, and where others serve it',
  (name, group) => {
    const reported: unknown[] = [];
    reportVacancy(
      { name, extras: { group, headers: {}, repeat: null } },
      { freed: (...of) => reported.push(['here', ...of]) },
      { isShared: (of) => of === 'shared' },
      { sendVacant: (...of) => reported.push(['others', ...of]) },
    );
    const others = name === 'shared' ? [['others', name, group]] : [];
    expect(reported).toEqual([['here', name, group], ...others]);
  },
);

it('hints of places ask at once, then together for all that came within ten milliseconds, and forget none', () => {
  tell('test.limited');
  expect(heard).toEqual([[0, 'test.limited', null]]);
  for (let ms = 1; ms <= 100; ms += 1) {
    jest.advanceTimersByTime(1);
    for (let k = 0; k < 100; k += 1) tell('test.limited', k % 2);
    tell('test.limited');
  }
  jest.advanceTimersByTime(100);
  const rounds = [...new Set(heard.map(([atMs]) => atMs))];
  expect(rounds).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]);
  expect(heard.filter(([atMs]) => atMs === 110)).toHaveLength(3);
  tell('other.limited');
  expect(heard.at(-1)).toEqual([200, 'other.limited', null]);
});

it('of what others tell, a round has ten thousand, and none of a name that this node serves alone', () => {
  tell('of this node alone');
  expect(heard).toEqual([]);
  tell('test.limited');
  for (let number = 0; number < 20_000; number += 1) tell('test.limited', number);
  jest.advanceTimersByTime(10);
  expect(heard).toHaveLength(10_001);
});
