import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { HintedWake } from '../../../src/delay-queue/core/cluster/hint.js';
import { HintFollower, reportVacancy } from '../../../src/delay-queue/core/worker/hint-follower.js';
import type { LookedRow } from '../../../src/delay-queue/core/store/sql/attempts.sql.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { signal } from '../../support/delay-node.js';

const HORIZON_MS = 30_000;
/** Two nodes' clocks may be apart by so much. */
const SLACK_MS = 1_000;

let told: unknown[];
let events: DelayEvents;
/** What the queue answers, and the node. */
let state: { isOpen: boolean; hasRoom: boolean; serves: string[]; owns: boolean };
/** What the rows say; an error fails the look. */
let rows: Partial<LookedRow>[] | Error;
let looks: number[][];
/** The answer waits for it. */
let gate: Promise<void>;
/** When blocks heard of which places. */
let freed: [atMs: number, name: string, group: number | null][];
let follower: HintFollower;

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [told, looks, rows, freed] = [[], [], [], []];
  gate = Promise.resolve();
  state = { isOpen: true, hasRoom: true, serves: ['a'], owns: true };
  events = new DelayEvents();
  events.on('taskFailed', ({ task }) => told.push(`failed: ${task}`));
  events.on('taskRecovered', ({ task }) => told.push(`recovered: ${task}`));
  const queue = {
    get isOpen() {
      return state.isOpen;
    },
    offer: (wake: Wake, source: string) => {
      told.push([source, wake]);
      return state.hasRoom;
    },
  };
  const lookAt = async (ids: readonly number[]): Promise<LookedRow[]> => {
    looks.push([...ids]);
    await gate;
    if (rows instanceof Error) throw rows;
    return rows as LookedRow[];
  };
  const options = { nodeName: 'self', horizonMs: HORIZON_MS };
  const store = { lookAt };
  follower = new HintFollower({
    store,
    queue,
    events,
    options,
    loader: { nodesChanged: () => told.push('load') },
    aborts: { hinted: (ids: readonly number[]) => told.push(['abort', ids]) },
    nodes: {
      mayRun: (name: string) => state.serves.includes(name),
      ownsHinted: () => state.owns,
      isShared: (name: string) => name !== 'of this node alone',
    },
    throttles: {
      freedElsewhere: (name: string, group: number | null) => freed.push([Date.now(), name, group]),
    },
    clock: { nowMs: () => performance.now() },
    idle: { disturb: () => told.push('disturbed') },
  } as never);
});

afterEach(async () => {
  await follower.stop();
  jest.useRealTimers();
});

const wake = (id: number, more: Partial<HintedWake> = {}): HintedWake => ({
  id,
  epoch: 0,
  name: 'a',
  groupNumber: null,
  wakeMs: HORIZON_MS + SLACK_MS,
  stalled: false,
  failed: false,
  ...more,
});

const hear = (...wakes: HintedWake[]): void => follower.follow({ kind: 'wakes', wakes });

const offered = (id: number): unknown => [
  'hinted',
  expect.objectContaining({ id, group: null }) as unknown,
];

it('a wake of this node is offered when it is near, and what is due later only disturbs', () => {
  hear(wake(1), wake(2, { wakeMs: HORIZON_MS + SLACK_MS + 1 }));
  expect(told).toEqual(['disturbed', offered(1)]);
});

it('a wake of another node only disturbs, and one that no handler here is for does nothing', () => {
  state.owns = false;
  hear(wake(1));
  hear(wake(2, { name: 'b' }));
  expect(told).toEqual(['disturbed']);
});

it('a wake that another node could not read is for all', () => {
  state.owns = false;
  follower.follow({ kind: 'passed', wakes: [wake(1)] });
  expect(told).toEqual(['disturbed', offered(1)]);
});

it.each(['wakes', 'passed'] as const)('%s that find no room are found by a load', (kind) => {
  state.hasRoom = false;
  follower.follow({ kind, wakes: [wake(1), wake(2)] });
  expect(told).toEqual(['disturbed', offered(1), offered(2), 'load']);
});

it('before it is open, and once it is shut, nothing is offered or asked for', () => {
  state.isOpen = false;
  hear(wake(1), wake(2, { groupNumber: 7 }));
  expect(told).toEqual([]);
});

it('loads that hints ask for are apart, and a node does not ask because of itself', async () => {
  follower.follow({ kind: 'nodes', came: 'self' });
  expect(told).toEqual([]);
  for (const came of [undefined, 'other', 'third']) {
    follower.follow({ kind: 'nodes', ...(came !== undefined && { came }) });
  }
  expect(told).toEqual(['load']);
  await pass(249);
  expect(told).toEqual(['load']);
  await pass(1);
  expect(told).toEqual(['load', 'load']);
  await pass(1_000);
  expect(told).toEqual(['load', 'load']);
});

it('attempts that are to end are looked after', () => {
  follower.follow({ kind: 'abort', ids: [3, 4] });
  expect(told).toEqual([['abort', [3, 4]]]);
});

const row = (id: number, more: Partial<LookedRow> = {}): Partial<LookedRow> => ({
  id,
  epoch: 5,
  name: 'a',
  group: 'g',
  failed: false,
  node: null,
  wake_ms: HORIZON_MS,
  now_ms: 0,
  ...more,
});

it('a wake of a group is what its row says', async () => {
  rows = [
    row(1),
    row(2, { node: 'another', failed: true }),
    row(3, { wake_ms: HORIZON_MS + 1 }),
    row(4, { wake_ms: null }),
  ];
  hear(...[1, 2, 3, 4].map((id) => wake(id, { groupNumber: 7 })));
  follower.follow({ kind: 'passed', wakes: [wake(2, { groupNumber: 7 })] });
  expect(looks).toEqual([[1]]);
  await pass(10);
  expect(looks).toEqual([[1], [2, 3, 4]]);
  const of = { epoch: 5, name: 'a', group: 'g', wakeMs: HORIZON_MS };
  const read = told.filter((each) => Array.isArray(each)).slice(-2);
  expect(read).toEqual([
    ['confirmed', { id: 1, ...of, failed: false, stalled: false }],
    ['confirmed', { id: 2, ...of, failed: true, stalled: true, refused: true }],
  ]);
});

it('rows that cannot be looked at are tried again with the next hint, and what waits has a limit', async () => {
  rows = new Error('down');
  hear(wake(1, { groupNumber: 7 }));
  await pass(0);
  expect(told).toEqual(['disturbed', 'failed: lookup']);
  rows = [];
  hear(wake(2, { groupNumber: 7 }));
  await pass(10);
  expect(looks).toEqual([[1], [2]]);
  expect(told.at(-1)).toBe('recovered: lookup');
  told = [];
  hear(...Array.from({ length: 10_000 }, (_, id) => wake(10 + id, { groupNumber: 7 })));
  expect(told).toEqual(['disturbed']);
  hear(wake(3, { groupNumber: 7 }));
  expect(told.at(-1)).toBe('load');
  await pass(10);
  expect(looks.flat()).toHaveLength(2 + 10_000);
});

it('what comes while a look is under way is looked at behind it', async () => {
  const answer = signal();
  gate = answer.promise;
  hear(wake(1, { groupNumber: 7 }));
  hear(wake(2, { groupNumber: 7 }));
  await pass(1_000);
  expect(looks).toEqual([[1]]);
  answer.resolve();
  await pass(10);
  expect(looks).toEqual([[1], [2]]);
});

it('a look that is under way when it stops is waited for, and offers nothing more', async () => {
  rows = [row(1)];
  hear(wake(1, { groupNumber: 7 }));
  const stopping = follower.stop();
  hear(wake(2, { groupNumber: 7 }));
  await pass(1_000);
  await stopping;
  expect([looks, told]).toEqual([[[1]], ['disturbed', 'disturbed']]);
  expect(jest.getTimerCount()).toBe(0);
});

const tell = (name: string, groupNumber: number | null = null): void =>
  follower.follow({ kind: 'vacant', of: [{ name, groupNumber }] });

describe('places that are free', () => {
  it.each([
    ['shared', null],
    ['shared', 'g'],
    ['of this node alone', null],
  ])(
    'by the end of an attempt of a name %s are reported here, and where others serve it',
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

  it('elsewhere are heard of at once, then together for all that came within ten milliseconds, and none is forgotten', () => {
    tell('test.limited');
    expect(freed).toEqual([[0, 'test.limited', null]]);
    for (let ms = 1; ms <= 100; ms += 1) {
      jest.advanceTimersByTime(1);
      for (let k = 0; k < 100; k += 1) tell('test.limited', k % 2);
      tell('test.limited');
    }
    jest.advanceTimersByTime(100);
    const rounds = [...new Set(freed.map(([atMs]) => atMs))];
    expect(rounds).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]);
    expect(freed.filter(([atMs]) => atMs === 110)).toHaveLength(3);
    tell('other.limited');
    expect(freed.at(-1)).toEqual([200, 'other.limited', null]);
  });

  it('are ten thousand in a round, and none of a name that this node serves alone', () => {
    tell('of this node alone');
    expect(freed).toEqual([]);
    tell('test.limited');
    for (let number = 0; number < 20_000; number += 1) tell('test.limited', number);
    jest.advanceTimersByTime(10);
    expect(freed).toHaveLength(10_001);
  });
});
