import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { DeadLetters } from '../../../src/delay-queue/core/worker/dead-letters.js';
import { MissedClaims } from '../../../src/delay-queue/core/worker/missed-claims.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import type { LookedRow } from '../../../src/delay-queue/core/store/sql/attempts.sql.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';

const NOW_MS = 1_000_000;

let rows: Partial<LookedRow>[];
let isDown: boolean;
/** What is refused: dead letters, or looks at what cannot be read. */
let refused: Set<string>;
/** Looks at what cannot be read. */
let looks: number[][];
/** What became of the entries. */
let done: string[];
let pauses: Map<number, number[]>;
let takesOver: boolean;
let dead: number[];
let events: string[];
let jobs: Jobs;
let deadLetters: DeadLetters;
let unclaimed: MissedClaims;

beforeEach(() => {
  [rows, isDown, done, pauses, takesOver, dead, events] = [[], false, [], new Map(), false, [], []];
  [refused, looks] = [new Set(), []];
  jobs = new Jobs();
  const told = new DelayEvents();
  told.on('dead', ({ id, attempt }) => events.push(`dead ${id} ${attempt}`));
  told.on('taskFailed', ({ task }) => events.push(task));
  told.on('taskRecovered', ({ task }) => events.push(`${task} again`));
  const store = {
    lookAt: async () => {
      if (isDown) throw new Error('down');
      return rows;
    },
    deadLetter: async (requests: { id: number }[]) => {
      if (refused.has('dead')) throw new Error('down');
      dead.push(...requests.map(({ id }) => id));
      return requests.map(({ id }) => ({ id, name: 'a', key: null, attempts: 3, error: 'no' }));
    },
    setAside: async (ids: number[]) => {
      looks.push(ids);
      if (refused.has('odd')) throw new Error('down');
      return ids.map((id) => ({ id, name: 'a', key: null, attempts: 0, error: 'odd' }));
    },
    recur: async (items: { id: number; nextMs: number }[]) =>
      items.map(({ id, nextMs }) => ({ id, epoch: 5, name: 'a', attempts: 3, wake_ms: nextMs })),
  };
  const queue = {
    again: ({ id }: Job, inMs: number, wakeMs?: number) => {
      done.push(wakeMs === undefined ? `again ${id}` : `again ${id} at ${wakeMs}`);
      pauses.set(id, [...(pauses.get(id) ?? []), inMs]);
    },
    forget: ({ id }: Job) => done.push(`forget ${id}`),
    offer: ({ id, epoch }: Wake, source: string) => done.push(`offer ${id} ${epoch} ${source}`),
  };
  deadLetters = new DeadLetters(store as never, told, {
    waits: ({ id, epoch, wakeMs }: Wake) => done.push(`waits ${id} ${epoch} ${wakeMs}`),
    found: () => takesOver,
  });
  unclaimed = new MissedClaims({
    store: store as never,
    registry: { get: () => ({ maxAttempts: 3 }) } as never,
    queue: queue as never,
    jobs,
    deadLetters,
    events: told,
  });
});

const entry = (id: number): Job =>
  ({ id, epoch: 1, name: 'a', timesNotClaimed: 0 }) as unknown as Job;

const row = (id: number, odd: Partial<LookedRow> = {}): Partial<LookedRow> => ({
  id,
  epoch: 1,
  name: 'a',
  group: null,
  attempts: 0,
  max_attempts: null,
  node: null,
  failed: false,
  is_odd: false,
  repeat: null,
  wake_ms: NOW_MS - 1,
  now_ms: NOW_MS,
  due_ms: NOW_MS - 1,
  ...odd,
});

async function lookAfter(...found: Partial<LookedRow>[]): Promise<string[]> {
  rows = found;
  await unclaimed.lookAfter([entry(1)]);
  return done;
}

describe('what a claim did not get', () => {
  it('and is gone, or a dead letter, is forgotten', async () => {
    expect(await lookAfter()).toEqual(['forget 1']);
    done.length = 0;
    expect(await lookAfter(row(1, { wake_ms: null }))).toEqual(['forget 1']);
  });

  it('and has moved on is offered anew, but not while another node runs it', async () => {
    const moved = { epoch: 4, wake_ms: NOW_MS + 50 };
    expect(await lookAfter(row(1, moved))).toEqual(['forget 1', 'offer 1 4 confirmed']);
    done.length = 0;
    expect(await lookAfter(row(1, { ...moved, node: 'another' }))).toEqual(['forget 1']);
    done.length = 0;
    jobs.lose(1, 4);
    const ours = row(1, { ...moved, node: 'node' });
    expect(await lookAfter(ours)).toEqual(['forget 1', 'offer 1 4 confirmed']);
  });

  it('and is early is looked at when its time has come', async () => {
    const early = row(1, { wake_ms: NOW_MS + 50 });
    expect(await lookAfter(early)).toEqual([`again 1 at ${NOW_MS + 50}`]);
    expect(pauses.get(1)).toEqual([50]);
  });

  it('and is due now is locked: it is looked at again, after pauses that grow', async () => {
    const held = entry(1);
    rows = [row(1, { wake_ms: NOW_MS })];
    for (let times = 0; times < 20; times += 1) await unclaimed.lookAfter([held]);
    const waits = pauses.get(1)!;
    for (const [times, ms] of waits.entries()) {
      const longest = Math.min(2_000, 4 * 2 ** times);
      expect(ms).toBeLessThanOrEqual(longest);
      expect(ms).toBeGreaterThanOrEqual(longest / 2);
    }
  });

  it('is looked at again when the look failed', async () => {
    isDown = true;
    expect(await lookAfter()).toEqual(['again 1']);
    expect([pauses.get(1), events]).toEqual([[2_000], ['lookup']]);
    isDown = false;
    await lookAfter();
    expect(events).toEqual(['lookup', 'lookup again']);
  });

  it('and cannot be read is set aside, and locked until then', async () => {
    expect(await lookAfter(row(1, { is_odd: true }))).toEqual(['again 1']);
    expect(events).toEqual(['dead 1 0']);
  });
});

describe('a row without an attempt left', () => {
  it.each([
    [3, null, true],
    [2, null, false],
    [2, 2, true],
    [3, 4, false],
  ])('of %d attempts, and %p at most, is one: %p', async (attempts, max_attempts, isOne) => {
    await lookAfter(row(1, { attempts, max_attempts }));
    expect([dead, done]).toEqual(isOne ? [[1], ['forget 1']] : [[], ['again 1']]);
  });

  it('is left to who calls methods for that', async () => {
    takesOver = true;
    expect(await lookAfter(row(1, { attempts: 3 }))).toEqual(['forget 1']);
    expect(dead).toEqual([]);
  });

  it('is a dead letter and told of, but where it recurs', async () => {
    await lookAfter(row(1, { attempts: 3 }));
    const repeat = JSON.stringify({ every: 1_000, from: 0, catchUp: 'latest' });
    await lookAfter(row(1, { attempts: 3, repeat }));
    expect([dead, events]).toEqual([[1], ['dead 1 3', 'dead 1 3']]);
    await lookAfter(row(1, { attempts: 3, repeat: '{"unknown":1}' }));
    expect(dead).toEqual([1, 1]);
  });

  it('and recurs goes on, and where it waits now is told of', async () => {
    const repeat = JSON.stringify({ every: 1_000, from: 0, catchUp: 'latest' });
    await lookAfter(row(1, { attempts: 3, repeat }));
    expect([dead, done]).toEqual([[], ['forget 1', `waits 1 5 ${NOW_MS}`]]);
  });

  it('is left to the sweep while it cannot be made a dead letter', async () => {
    refused.add('dead');
    await lookAfter(row(1, { attempts: 3 }));
    expect([events, done]).toEqual([['deadLetter'], ['forget 1']]);
    refused.clear();
    await lookAfter(row(1, { attempts: 3 }));
    expect(events).toEqual(['deadLetter', 'dead 1 3', 'deadLetter again']);
  });
});

describe('rows that cannot be read', () => {
  it('are looked at one look at a time, and again after one that failed', async () => {
    refused.add('odd');
    const first = deadLetters.unreadable(1);
    await deadLetters.unreadable(2);
    await first;
    expect([looks, events]).toEqual([[[1]], ['deadLetter']]);
    refused.clear();
    await deadLetters.unreadable(3);
    expect([looks, events]).toEqual([
      [[1], [3]],
      ['deadLetter', 'deadLetter again', 'dead 3 0'],
    ]);
  });

  it('are counted when they are set aside, those with too large an id by no name', async () => {
    expect(await deadLetters.setAside([1, 2 ** 60, 2])).toBe(2);
    expect(looks).toEqual([[1, 2]]);
    refused.add('odd');
    expect(await deadLetters.setAside([1])).toBe(0);
  });
});
