import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ReadyQueue } from '../../../src/delay-queue/intake/ready-queue.js';
import type { Admit } from '../../../src/delay-queue/intake/line.js';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';

let lastId = 0;
const entry = (name: string, stalled = false, group: string | null = null): Entry => ({
  failed: stalled,
  id: ++lastId,
  epoch: 0,
  name,
  group,
  wakeMs: 0,
  stalled,
  place: 'wheel',
  handle: 0,
  timesNotClaimed: 0,
});

const fill = (queue: ReadyQueue, name: string, count: number): Entry[] =>
  Array.from({ length: count }, () => {
    const each = entry(name);
    queue.push(each);
    return each;
  });

const admits =
  (hasPlace: (entry: Entry) => boolean): Admit =>
  (each) =>
    hasPlace(each) ? 'yes' : 'no';

const ANYBODY = admits(() => true);

/** What a take takes; everybody has a place who is not refused one. */
const takeFrom = (
  queue: ReadyQueue,
  limit: number,
  hasPlace: (entry: Entry) => boolean = () => true,
): Entry[] => {
  const taken: Entry[] = [];
  const seat = (each: Entry): boolean => hasPlace(each) && taken.push(each) > 0;
  expect(queue.take(limit, admits(seat), false)).toBe(taken.length > 0 ? 'healthy' : 'nothing');
  return taken;
};

const ofGroup = (group: string | null, count: number, queue: ReadyQueue): (Entry | undefined)[] =>
  Array.from({ length: count }, () => queue.push(entry('a', false, group)));

const takenGroups = (queue: ReadyQueue, limit: number): (string | null)[] =>
  takeFrom(queue, limit).map(({ group }) => group);

describe('groups of a name', () => {
  it('take turns, and those without a group are one', () => {
    const queue = new ReadyQueue();
    ofGroup('big', 5, queue);
    ofGroup(null, 2, queue);
    ofGroup('small', 1, queue);
    expect(takenGroups(queue, 4)).toEqual(['big', null, 'small', 'big']);
    ofGroup('late', 1, queue);
    expect(takenGroups(queue, 9)).toEqual([null, 'big', 'late', 'big', 'big']);
    expect(queue.size).toBe(0);
  });

  it('that have no place are passed, and what is put back is the first of its group', () => {
    const queue = new ReadyQueue();
    ofGroup('full', 2, queue);
    ofGroup('free', 2, queue);
    const asked: Entry[] = [];
    const asking: Admit = (each) => {
      asked.push(each);
      return each.group === 'full' ? 'not its group' : 'yes';
    };
    expect(queue.take(9, asking, false)).toBe('healthy');
    expect(asked.map(({ group }) => group)).toEqual(['full', 'free', 'full', 'free', 'full']);
    const [, first, , second] = asked as [Entry, Entry, Entry, Entry];
    for (const each of [second, first]) queue.putBack(each);
    expect(queue.size).toBe(4);
    expect(takenGroups(queue, 9)).toEqual(['full', 'free', 'full', 'free']);
    expect(queue.size).toBe(0);
  });

  it('find room in a line that another has filled, which leaves its newest out', () => {
    const queue = new ReadyQueue();
    expect(ofGroup('big', 10_000, queue).filter((out) => out !== undefined)).toEqual([]);
    expect(ofGroup('big', 1, queue)).toMatchObject([{ group: 'big', id: lastId }]);
    const last = lastId - 1;
    expect(ofGroup('small', 2, queue)).toMatchObject([{ id: last }, { id: last - 1 }]);
    expect(queue.size).toBe(10_000);
    expect(takenGroups(queue, 4)).toEqual(['big', 'small', 'big', 'small']);
    // Nobody has more than twice what the other has: who comes last stays outside.
    ofGroup('other', 5_000, queue);
    expect(ofGroup('other', 1, queue)).toMatchObject([{ group: 'other', id: lastId }]);
  });
});

describe('ReadyQueue', () => {
  it('drops what it is told to, from the middle of a line too, and says what', () => {
    const queue = new ReadyQueue();
    const [a1, a2, a3] = fill(queue, 'a', 3) as [Entry, Entry, Entry];
    const [b1] = fill(queue, 'b', 1) as [Entry];
    const stalled = entry('a', true);
    queue.push(stalled);
    a3.place = 'gone';
    const dropped = queue.keepOnly((each) => each === a2 || each === stalled);
    expect(dropped).toEqual([a1, b1]);
    expect(queue.size).toBe(2);
    expect(takeFrom(queue, 10)).toEqual([a2]);
    expect(
      queue.take(
        1,
        admits((each) => each === stalled),
        true,
      ),
    ).toBe('stalled');
    expect(queue.size).toBe(0);
  });

  it.each([3, 6])('serves %d names in turn, however often nobody had a slot', (count) => {
    const names = Array.from({ length: count }, (_, n) => `name ${n}`);
    // How often somebody asked in vain before a slot was free, and who could not take it.
    const turn = fc.record({ inVain: fc.nat(4), full: fc.subarray(names) });
    const turns = fc.array(
      fc.oneof(
        turn,
        turn.map((each) => ({ ...each, full: [] as string[] })),
      ),
    );
    fc.assert(
      fc.property(turns, (asked) => {
        const queue = new ReadyQueue();
        for (const name of names) fill(queue, name, asked.length);
        const leastRecent = [...names];
        for (const { inVain, full } of asked) {
          for (let n = 0; n < inVain; n += 1) expect(takeFrom(queue, 500, () => false)).toEqual([]);
          const [taken] = takeFrom(queue, 1, ({ name }) => !full.includes(name));
          const next = leastRecent.find((name) => !full.includes(name));
          expect(taken?.name).toBe(next);
          if (next !== undefined)
            leastRecent.push(...leastRecent.splice(leastRecent.indexOf(next), 1));
        }
      }),
    );
  });

  it('gives each name as much of the slots as another, however many become free at once', () => {
    const names = ['a', 'b', 'c', 'd'];
    const slots = fc.array(fc.nat(7), { maxLength: 50 });
    fc.assert(
      fc.property(slots, (freed) => {
        const queue = new ReadyQueue();
        for (const name of names) fill(queue, name, 400);
        const served = new Map(names.map((name) => [name, 0]));
        for (const free of freed) {
          let left = free;
          for (const { name } of takeFrom(queue, 500, () => left-- > 0)) {
            served.set(name, (served.get(name) ?? 0) + 1);
          }
          const counts = [...served.values()];
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it('forgets what is no longer ready', () => {
    const queue = new ReadyQueue();
    const entries = fill(queue, 'a', 5);
    for (const each of entries.slice(0, 4)) each.place = 'gone';
    expect(takeFrom(queue, 10)).toEqual(entries.slice(4));
  });

  it('bounds each line by itself: a name with very many takes nobody else the room', () => {
    const queue = new ReadyQueue();
    fill(queue, 'many', 10_000);
    const refused = entry('many');
    expect(queue.push(refused)).toBe(refused);
    expect(refused.place).toBe('wheel');
    expect(queue.push(entry('other'))).toBeUndefined();
    expect(queue.push(entry('many', true))).toBeUndefined();
    expect([queue.sizeOf('many'), queue.sizeOf('other'), queue.sizeOf('none')]).toEqual([
      10_000, 1, 0,
    ]);
    takeFrom(queue, 1, ({ name }) => name === 'many');
    expect(queue.push(refused)).toBeUndefined();
  });

  it('bounds the lines of many names more tightly: their crowds leave room for others', () => {
    const queue = new ReadyQueue();
    for (let n = 0; n < 20; n += 1) fill(queue, `crowd ${n}`, 10_000);
    expect(queue.size).toBe(100_000 + 10 * 500);
    expect(queue.push(entry('crowd 0'))).toMatchObject({ name: 'crowd 0' });
    expect(queue.push(entry('other'))).toBeUndefined();
  });

  it('keeps stalled delays apart, one by one, and their names take turns', () => {
    const queue = new ReadyQueue();
    for (const name of ['a', 'a', 'a', 'full', 'b']) queue.push(entry(name, true));
    expect(takeFrom(queue, 10)).toEqual([]);
    const seated: string[] = [];
    const unlessFull = ({ name }: Entry): boolean => name !== 'full' && seated.push(name) > 0;
    while (queue.take(10, admits(unlessFull), true) === 'stalled');
    expect(seated).toEqual(['a', 'b', 'a', 'a']);
    expect(queue.take(10, ANYBODY, true)).toBe('stalled');
    expect(queue.take(10, ANYBODY, true)).toBe('nothing');
  });

  it('lets stalled delays and the others take turns, whoever has a seat', () => {
    const queue = new ReadyQueue();
    for (let n = 0; n < 3; n += 1) queue.push(entry('a', true));
    fill(queue, 'a', 3);
    const lanes = Array.from({ length: 7 }, () => queue.take(1, ANYBODY, true));
    expect(lanes.join(' ')).toBe('stalled healthy stalled healthy stalled healthy nothing');
    for (let n = 0; n < 2; n += 1) queue.push(entry('a', true));
    fill(queue, 'b', 1);
    expect(
      queue.take(
        1,
        admits(({ name }) => name === 'b'),
        true,
      ),
    ).toBe('healthy');
    expect(queue.take(1, ANYBODY, false)).toBe('nothing');
    expect(queue.take(1, ANYBODY, true)).toBe('stalled');
  });
});
