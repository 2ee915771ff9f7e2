import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Admit, ReadyQueue } from '../../../src/delay-queue/core/worker/fair-queue.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { job } from '../../support/job.js';
import { nameStates } from '../../support/name-states.js';

let states: NameStates;

beforeEach(() => {
  states = nameStates();
});

let lastId = 0;
const entry = (name: string, more: Partial<Job> = {}): Job =>
  job({ id: (lastId += 1), name, ...more });

/** @returns who is left out for each of them */
const push = (queue: ReadyQueue, count: number, name: string, more: Partial<Job> = {}) =>
  Array.from({ length: count }, () => queue.push(entry(name, more)));

/** Admits whom `hasSlot` has a place for, into a list. */
function admitting(hasSlot: (entry: Job) => boolean = () => true) {
  const taken: Job[] = [];
  const admit: Admit = (each) => (hasSlot(each) && taken.push(each) > 0 ? 'yes' : 'no');
  return { admit, taken };
}

const takeFrom = (queue: ReadyQueue, limit: number, hasSlot?: (entry: Job) => boolean) => {
  const { admit, taken } = admitting(hasSlot);
  expect(queue.take(limit, admit, false)).toBe(taken.length > 0 ? 'healthy' : 'nothing');
  return taken;
};

const unlessFull: Admit = ({ group }) => (group === 'full' ? 'group full' : 'yes');

const groupsFrom = (queue: ReadyQueue, limit: number) =>
  takeFrom(queue, limit).map(({ group }) => group);

describe('groups of a name', () => {
  it('have room but for those of which enough wait', () => {
    const queue = new ReadyQueue(states);
    push(queue, 3, 'a', { group: 'many' });
    push(queue, 1, 'a', { group: 'few' });
    push(queue, 1, 'a');
    expect(queue.roomFor('a', 6)).toEqual({ butNotOf: [] });
    expect(queue.roomFor('a', 3)).toEqual({ butNotOf: ['many'] });
    expect(queue.roomFor('a', 1)?.butNotOf.toSorted()).toEqual(['few', 'many']);
  });

  it('take turns, and those without a group are one', () => {
    const queue = new ReadyQueue(states);
    push(queue, 5, 'a', { group: 'big' });
    push(queue, 2, 'a');
    push(queue, 1, 'a', { group: 'small' });
    expect(groupsFrom(queue, 4)).toEqual(['big', null, 'small', 'big']);
    push(queue, 1, 'a', { group: 'late' });
    expect(groupsFrom(queue, 9)).toEqual([null, 'big', 'late', 'big', 'big']);
    expect(queue.size).toBe(0);
  });

  it('each have one among the next ids of a name, throttled ones, too', () => {
    const queue = new ReadyQueue(states);
    const groups = ['big', 'big', 'throttled', null];
    const entries = groups.map((group) => entry('a', { group }));
    const [alone, stalled] = [entry('b'), entry('a', { stalled: true })];
    for (const each of [...entries, alone, stalled]) queue.push(each);
    queue.take(1, ({ group }) => (group === 'throttled' ? 'group throttled' : 'group full'), false);
    const [first, , throttled, other] = entries;
    const ids = [first, throttled, other, alone, stalled].map((each) => each?.id);
    expect(new Set(queue.nextIds(3))).toEqual(new Set(ids));
    expect(queue.nextIds(1)).toHaveLength(3);
  });

  it('what is put back comes first again, whatever of its group was taken before', () => {
    const queue = new ReadyQueue(states);
    const entries = Array.from({ length: 4 }, () => entry('a'));
    for (const each of entries) queue.push(each);
    const [first, second, third] = takeFrom(queue, 3) as [Job, Job, Job];
    for (const each of [third, second]) queue.putBack(each);
    expect([first, ...takeFrom(queue, 9)]).toEqual(entries);
    expect(queue.size).toBe(0);
  });

  it('that have no place are passed, and what is put back is the first of its group', () => {
    const queue = new ReadyQueue(states);
    for (const group of ['full', 'free']) push(queue, 2, 'a', { group });
    const asked: Job[] = [];
    const asking: Admit = (each) => {
      asked.push(each);
      return each.group === 'full' ? 'group full' : 'yes';
    };
    expect(queue.take(9, asking, false)).toBe('healthy');
    expect(asked.map(({ group }) => group)).toEqual(['full', 'free', 'full', 'free', 'full']);
    const [, first, , second] = asked as [Job, Job, Job, Job];
    for (const each of [second, first]) queue.putBack(each);
    expect(queue.size).toBe(4);
    const taken = takeFrom(queue, 9);
    expect(taken.map(({ group }) => group)).toEqual(['full', 'free', 'full', 'free']);
    expect([taken[1], taken[3]]).toEqual([first, second]);
  });

  it('find room in a line that another has filled, which leaves its newest out', () => {
    const queue = new ReadyQueue(states);
    const big = (count: number) => push(queue, count, 'a', { group: 'big' });
    expect(big(10_000).filter((out) => out !== undefined)).toEqual([]);
    expect(big(1)).toMatchObject([{ group: 'big', id: lastId }]);
    const last = lastId - 1;
    const small = push(queue, 2, 'a', { group: 'small' });
    expect(small).toMatchObject([{ id: last }, { id: last - 1 }]);
    expect(queue.size).toBe(10_000);
    expect(groupsFrom(queue, 4)).toEqual(['big', 'small', 'big', 'small']);
    // Nobody has more than its share: who comes last stays outside.
    push(queue, 5_000, 'a', { group: 'other' });
    expect(push(queue, 1, 'a', { group: 'other' })).toMatchObject([{ id: lastId }]);
  });
});

describe('a line that is full', () => {
  it('is shared among its groups, whoever came first', () => {
    const queue = new ReadyQueue(states);
    const groups = Array.from({ length: 100 }, (_, n) => `g${n}`);
    for (const group of groups) push(queue, 200, 'a', { group });
    expect(queue.size).toBe(10_000);
    const taken = groupsFrom(queue, 20_000);
    for (const group of groups) expect(taken.filter((each) => each === group)).toHaveLength(100);
    expect(queue.size).toBe(0);
  });

  it('has room for a group in the place of one that waits for its limit, and of no other, when there are more groups than places', () => {
    const queue = new ReadyQueue(states);
    for (let n = 0; n < 10_000; n += 1) push(queue, 1, 'a', { group: `g${n}` });
    const asked: Job[] = [];
    const asking: Admit = (each) => (asked.push(each) > 3 ? 'no' : 'group throttled');
    expect(queue.take(1, asking, false)).toBe('nothing');
    expect(queue.throttled).toBe(3);
    const leftOut = ['x', 'y', 'z'].flatMap((group) => push(queue, 1, 'a', { group }));
    expect(new Set(leftOut)).toEqual(new Set(asked.slice(0, 3)));
    expect([queue.throttled, queue.size]).toEqual([0, 10_000]);
    expect(push(queue, 1, 'a', { group: 'late' })).toMatchObject([{ group: 'late' }]);
  });

  it('leaves out what a walk brings of a group behind what was left out, until the next walk', () => {
    const queue = new ReadyQueue(states);
    const brought = (group: string, walk?: number) =>
      push(queue, 1, 'a', { group, scanNo: walk })[0];
    push(queue, 9_000, 'a', { group: 'big', scanNo: 1 });
    for (let n = 0; n < 1_000; n += 1) brought(`g${n}`, 1);
    // Another's newest, which was in the line, or the one itself.
    expect(brought('new', 1)).toMatchObject({ group: 'big' });
    push(queue, 20, 'a', { group: 'many', scanNo: 1 });
    takeFrom(queue, 100);
    for (const group of ['big', 'many']) expect(brought(group, 1)).toMatchObject({ group });
    expect(['new', 'g1'].map((group) => brought(group, 1))).toEqual([undefined, undefined]);
    // Nobody knows whether something comes before what was not brought by a walk.
    expect(brought('many')).toBeUndefined();
    expect(['many', 'big'].map((group) => brought(group, 2))).toEqual([undefined, undefined]);
  });

  it('counts those that wait for a limit of their group until it has a place', () => {
    const queue = new ReadyQueue(states);
    for (const group of ['full', 'free']) push(queue, 2, 'a', { group });
    queue.take(
      1,
      (each, of) => (each.group === 'full' ? 'group throttled' : unlessFull(each, of)),
      false,
    );
    expect(queue.throttled).toBe(2);
    push(queue, 1, 'a', { group: 'full' });
    expect(queue.throttled).toBe(3);
    expect(queue.keepOnly((each) => each.group !== 'full' || each.id === lastId)).toHaveLength(2);
    expect(queue.throttled).toBe(1);
    takeFrom(queue, 9);
    expect(queue.throttled).toBe(1);
    queue.release('a', 'full');
    expect(takeFrom(queue, 9)).toMatchObject([{ group: 'full' }]);
    expect([queue.throttled, queue.size]).toEqual([0, 0]);
  });
});

describe('names', () => {
  it.each([3, 6])('%d of them are served in turn, however often nobody had a place', (count) => {
    const names = Array.from({ length: count }, (_, n) => `name ${n}`);
    const full = fc.oneof(fc.constant<string[]>([]), fc.subarray(names));
    // How often somebody asked in vain before a place was free, and who could not take it.
    const turns = fc.array(fc.record({ inVain: fc.nat(4), full }));
    fc.assert(
      fc.property(turns, (asked) => {
        const queue = new ReadyQueue(nameStates());
        for (const name of names) push(queue, asked.length, name);
        const leastRecent = [...names];
        for (const turn of asked) {
          for (let n = 0; n < turn.inVain; n += 1) takeFrom(queue, 500, () => false);
          const hasSlot = (name: string): boolean => !turn.full.includes(name);
          const [taken] = takeFrom(queue, 1, ({ name }) => hasSlot(name));
          const next = leastRecent.findIndex(hasSlot);
          expect(taken?.name).toBe(leastRecent[next]);
          if (next >= 0) leastRecent.push(...leastRecent.splice(next, 1));
        }
      }),
    );
  });

  it('get as many places as each other, however many become free at once', () => {
    const names = ['a', 'b', 'c', 'd'];
    fc.assert(
      fc.property(fc.array(fc.nat(7), { maxLength: 50 }), (freed) => {
        const queue = new ReadyQueue(nameStates());
        for (const name of names) push(queue, 400, name);
        const taken: Job[] = [];
        for (const free of freed) {
          let left = free;
          taken.push(...takeFrom(queue, 500, () => left-- > 0));
          const served = names.map((name) => taken.filter((each) => each.name === name).length);
          expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('have a line each, with room of its own', () => {
    const queue = new ReadyQueue(states);
    push(queue, 10_000, 'many');
    const refused = entry('many');
    expect(queue.push(refused)).toBe(refused);
    expect(refused.state).toBe('wheel');
    expect(push(queue, 1, 'other')).toEqual([undefined]);
    expect(push(queue, 1, 'many', { stalled: true })).toEqual([undefined]);
    const sizes = ['many', 'other', 'none'].map((name) => states.of(name).due);
    expect([...sizes, states.of('many').stalledDue]).toEqual([10_000, 1, 0, 1]);
    takeFrom(queue, 1, ({ name }) => name === 'many');
    expect(queue.push(refused)).toBeUndefined();
  });

  it('that are many have shorter lines: their crowds leave room for others', () => {
    const queue = new ReadyQueue(states);
    for (let n = 0; n < 20; n += 1) push(queue, 10_000, `crowd ${n}`);
    expect(queue.size).toBe(100_000 + 10 * 500);
    expect(push(queue, 1, 'crowd 0')).toMatchObject([{ name: 'crowd 0' }]);
    expect(push(queue, 1, 'other')).toEqual([undefined]);
  });
});

describe('what waits', () => {
  it('is dropped when it is not wanted, from the middle of a line too, and named', () => {
    const queue = new ReadyQueue(states);
    const [a1, a2, gone, b1] = ['a', 'a', 'a', 'b'].map((name) => entry(name));
    const stalled = entry('a', { stalled: true });
    for (const each of [a1, a2, gone, b1, stalled]) queue.push(each!);
    gone!.state = 'gone';
    expect(queue.keepOnly((each) => each === a2 || each === stalled)).toEqual([a1, b1]);
    expect(queue.size).toBe(2);
    expect(takeFrom(queue, 10)).toEqual([a2]);
    const { admit, taken } = admitting();
    expect(queue.take(1, admit, true)).toBe('stalled');
    expect(taken).toEqual([stalled]);
    expect(queue.size).toBe(0);
  });

  it('and is gone meanwhile is not taken', () => {
    const queue = new ReadyQueue(states);
    const entries = ['a', 'a', 'a'].map((name) => entry(name));
    for (const each of entries) queue.push(each);
    for (const each of entries.slice(0, 2)) each.state = 'gone';
    expect(takeFrom(queue, 10)).toEqual([entries[2]]);
  });
});

describe('stalled delays', () => {
  const STALLED = { stalled: true };

  it('are kept apart and taken one by one, and their names take turns', () => {
    const queue = new ReadyQueue(states);
    for (const name of ['a', 'a', 'a', 'full', 'b']) push(queue, 1, name, STALLED);
    expect(takeFrom(queue, 10)).toEqual([]);
    const { admit, taken } = admitting(({ name }) => name !== 'full');
    while (queue.take(10, admit, true) === 'stalled');
    expect(taken.map(({ name }) => name)).toEqual(['a', 'b', 'a', 'a']);
    expect(queue.size).toBe(1);
  });

  it('and the others take turns, whoever has a place', () => {
    const queue = new ReadyQueue(states);
    const { admit } = admitting();
    push(queue, 3, 'a', STALLED);
    push(queue, 3, 'a');
    const lanes = Array.from({ length: 7 }, () => queue.take(1, admit, true));
    expect(lanes.join(' ')).toBe('stalled healthy stalled healthy stalled healthy nothing');
    push(queue, 2, 'a', STALLED);
    push(queue, 1, 'b');
    expect(queue.take(1, admitting(({ name }) => name === 'b').admit, true)).toBe('healthy');
    expect(queue.take(1, admit, false)).toBe('nothing');
    expect(queue.take(1, admit, true)).toBe('stalled');
  });
});
