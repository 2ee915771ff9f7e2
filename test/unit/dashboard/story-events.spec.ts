import { describe, expect, it } from '@jest/globals';
import type {
  OperationLine,
  StoryDelay,
  StoryView,
} from '../../../src/delay-queue/dashboard/contract.js';
import {
  storyEvents,
  storyLanes,
} from '../../../src/delay-queue/dashboard/page/story/story-events.js';

const at = (seconds: number): string =>
  new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();

const run = (id: string, its: Partial<StoryDelay>): StoryDelay => ({
  id,
  name: `name ${id}`,
  key: 'k',
  group: null,
  state: 'scheduled',
  dueAt: at(100),
  wakeAt: at(100),
  createdAt: at(0),
  endedAt: null,
  attempts: 0,
  maxAttempts: null,
  latenessMs: null,
  error: null,
  repeats: false,
  waitsFor: null,
  attemptLog: [],
  moveLog: [],
  by: null,
  ...its,
});

const story = (delays: StoryDelay[], operations: OperationLine[] = []): StoryView => ({
  now: at(50),
  key: 'k',
  delays,
  next: null,
  operations,
});

const operation: OperationLine = {
  id: '1',
  action: 'cancel',
  who: 'anna',
  scope: { names: null, groups: null },
  why: null,
  order: {},
  startedAt: at(30),
  endedAt: at(30),
  state: 'done',
  counts: {},
  expected: null,
  error: null,
  node: 'n',
};

const tried = (startedAt: string) => ({
  attempt: 1,
  outcome: 'failed' as const,
  node: 'n',
  startedAt,
  endedAt: startedAt,
  error: null,
});

/** When it comes due, as the story of that run says. */
const wakes = (its: Partial<StoryDelay>): string[] =>
  storyEvents(story([run('1', its)])).flatMap(({ what, at: when }) =>
    what === 'due' ? [when] : [],
  );

/** When that run died, as its story says. */
const died = (its: Partial<StoryDelay>): string[] =>
  storyEvents(story([run('1', { state: 'dead', wakeAt: null, ...its })])).flatMap(
    ({ what, at: when }) => (what === 'dead' ? [when] : []),
  );

describe('the story of a key', () => {
  it('is in the order of time, over names and runs', () => {
    const closed = run('2', {
      state: 'cancelled',
      endedAt: at(30),
      moveLog: [{ call: 'reschedule', at: at(10), from: at(20), to: at(100), by: 'anna' }],
    });
    const refund = run('3', { createdAt: at(20), attemptLog: [tried(at(25))], wakeAt: at(90) });
    expect(
      storyEvents(story([refund, closed], [operation])).map((event) => [
        event.what,
        'lane' in event ? event.lane : null,
      ]),
    ).toEqual([
      ['scheduled', 0],
      ['moved', 0],
      ['scheduled', 1],
      ['attempt', 1],
      ['operation', null],
      ['ended', 0],
      ['due', 1],
    ]);
  });

  it('says that a live delay comes due at its next attempt, and of a running or dead one nothing', () => {
    expect(wakes({ state: 'retrying', wakeAt: at(120) })).toEqual([at(120)]);
    expect(wakes({ state: 'running' })).toEqual([]);
    expect(wakes({ state: 'dead', wakeAt: null })).toEqual([]);
  });

  it('says of a dead letter that it died with its last attempt, else when it was due', () => {
    expect(died({ attemptLog: [tried(at(110))] })).toEqual([at(110)]);
    expect(died({})).toEqual([at(100)]);
  });

  it('has a lane for each run, the oldest first; of one instant the smaller id, whatever its digits', () => {
    const runs = [
      run('10', {}),
      run('9', {}),
      run('90071992547409931', {}),
      run('90071992547409930', {}),
    ];
    expect(storyLanes(story(runs)).map(({ id }) => id)).toEqual([
      '9',
      '10',
      '90071992547409930',
      '90071992547409931',
    ]);
  });
});
