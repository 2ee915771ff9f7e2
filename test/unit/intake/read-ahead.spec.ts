import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as settled } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';
import { ReadAhead } from '../../../src/delay-queue/intake/read-ahead.js';
import type { Wake } from '../../../src/delay-queue/store/wire/wakes.js';
import { DatabaseClock } from '../../../src/delay-queue/database/database-clock.js';
import type { WheelChannel } from '../../../src/delay-queue/wheel/wheel.channel.js';
import { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';

/** A channel whose time the test lets pass. */
class Wheel {
  readonly deadlines = new Map<number, { deadlineMs: number; id: number }>();
  full = false;
  closed = false;
  #handle = 0;
  #onExpired: (ids: readonly number[]) => void = () => {};

  service(): WheelService {
    const channel: WheelChannel = {
      add: (deadlineMs, id) => {
        if (this.full || this.closed) return undefined;
        this.deadlines.set(++this.#handle, { deadlineMs, id });
        return this.#handle;
      },
      cancel: (handle) => this.deadlines.delete(handle),
      move: (handle, deadlineMs) => {
        const entry = this.deadlines.get(handle);
        if (entry) entry.deadlineMs = deadlineMs;
        return entry !== undefined;
      },
      evictFarthest: (afterMs) => {
        const [far] = [...this.deadlines].toSorted(([, a], [, b]) => b.deadlineMs - a.deadlineMs);
        if (far === undefined || far[1].deadlineMs <= afterMs) return undefined;
        this.deadlines.delete(far[0]);
        return far[1].id;
      },
      turn: () => false,
      close: () => (this.closed = true),
    };
    return {
      channel: (onExpired: (ids: readonly number[]) => void) => {
        this.#onExpired = onExpired;
        return channel;
      },
    } as unknown as WheelService;
  }

  /** On the database's clock. */
  passTo(nowMs: number): void {
    const due = [...this.deadlines].filter(([, { deadlineMs }]) => deadlineMs <= nowMs + BEHIND_MS);
    for (const [handle] of due) this.deadlines.delete(handle);
    this.#onExpired(due.map(([, { id }]) => id));
  }
}

const MAX = 3;
/** Of the database's clock: what a test names by small numbers is not yet due. */
const BEHIND_MS = 1_000_000;
let wheel: Wheel;
let clock: DatabaseClock;
let due: Entry[];
let readAhead: ReadAhead;

beforeEach(() => {
  wheel = new Wheel();
  clock = new DatabaseClock();
  clock.sample(0, 0, -BEHIND_MS);
  due = [];
  readAhead = new ReadAhead(wheel.service(), clock, MAX, (entries) => void due.push(...entries));
});

afterEach(() => {
  readAhead.close();
  jest.restoreAllMocks();
});

const wake = (id: number, wakeMs: number, epoch = 0): Wake => ({
  id,
  epoch,
  name: 'a',
  group: null,
  wakeMs,
  stalled: false,
  failed: false,
});

/** On the database's clock. */
const deadlines = (): number[] =>
  [...wheel.deadlines.values()].map(({ deadlineMs }) => deadlineMs - BEHIND_MS);

const dueIds = (): number[] => due.map(({ id }) => id);

describe('ReadAhead', () => {
  it('lets the newest epoch win, and the newest time of one epoch', () => {
    readAhead.arm(wake(1, 100, 2), 'read');
    readAhead.arm(wake(1, 10, 1), 'read');
    wheel.passTo(50);
    expect(dueIds()).toEqual([]);
    readAhead.arm(wake(1, 60, 2), 'read');
    wheel.passTo(70);
    expect(due).toMatchObject([{ id: 1, epoch: 2, wakeMs: 60 }]);
    expect(deadlines()).toEqual([]);
  });

  it('leaves an entry alone while its claim is under way', () => {
    readAhead.arm(wake(1, 10), 'read');
    wheel.passTo(10);
    due[0]!.place = 'claiming';
    readAhead.arm(wake(1, 10, 5), 'read');
    readAhead.disarm(1);
    wheel.passTo(1_000);
    expect(due).toHaveLength(1);
    expect(due[0]!.place).toBe('claiming');
  });

  describe('of what is only told', () => {
    it('takes an earlier time, never a later one', () => {
      readAhead.arm(wake(1, 100, 2), 'read');
      readAhead.arm(wake(1, 500, 7), 'told');
      readAhead.arm(wake(1, 90, 1), 'told');
      expect(deadlines()).toEqual([100]);
      readAhead.arm(wake(1, 50, 3), 'told');
      expect(deadlines()).toEqual([50]);
      readAhead.arm(wake(1, 60, 4), 'told');
      expect(deadlines()).toEqual([50]);
    });

    it('lets a row have the last word, and an older one an earlier', () => {
      readAhead.arm(wake(1, 100, 7), 'told');
      readAhead.arm(wake(1, 200, 5), 'read');
      expect(deadlines()).toEqual([100]);
      readAhead.arm(wake(1, 80, 5), 'read');
      expect(deadlines()).toEqual([80]);
      readAhead.arm(wake(1, 300, 7), 'read');
      expect(deadlines()).toEqual([300]);
      readAhead.arm(wake(1, 10, 6), 'read');
      expect(deadlines()).toEqual([300]);
    });

    it('believes the row that was looked at', () => {
      readAhead.arm(wake(1, 0, 7), 'told');
      wheel.passTo(1);
      readAhead.correct(due[0]!, 500);
      readAhead.again(due[0]!, 100);
      readAhead.arm(wake(1, 600, 8), 'told');
      expect(due[0]).toMatchObject({ place: 'wheel', wakeMs: 500 });
      readAhead.arm(wake(1, 400, 8), 'told');
      expect(deadlines()).toEqual([400]);
    });

    it('keeps no more than a tenth, and lets nothing go for it', () => {
      const many = new ReadAhead(wheel.service(), clock, 20, () => {});
      for (let id = 1; id <= 10; id += 1) expect(many.arm(wake(id, 1_000), 'read')).toBe(true);
      for (const id of [101, 102]) expect(many.arm(wake(id, 1), 'told')).toBe(true);
      // Room for it there is, but not for what anybody says.
      expect(many.arm(wake(103, 1), 'told')).toBe(false);
      expect(many.arm(wake(2, 1), 'told')).toBe(false);
      many.disarm(101);
      expect(many.arm(wake(103, 1), 'told')).toBe(true);
      // A row that says the same is no hearsay any more.
      many.arm(wake(103, 1), 'read');
      expect(many.arm(wake(104, 1), 'told')).toBe(true);
      for (let id = 11; id <= 17; id += 1) expect(many.arm(wake(id, 1_000), 'read')).toBe(true);
      many.disarm(102);
      expect(many.arm(wake(18, 1_000), 'read')).toBe(true);
      expect(deadlines()).toHaveLength(20);
      // All is full: a row finds room at the cost of the farthest, hearsay does not.
      expect(many.arm(wake(105, 1), 'told')).toBe(false);
      expect(many.arm(wake(19, 500), 'read')).toBe(true);
      expect(deadlines()).toHaveLength(20);
      many.close();
    });
  });

  it('hears of a later epoch while a claim is under way, and knows it when that has missed', () => {
    readAhead.arm(wake(1, 10), 'read');
    wheel.passTo(10);
    due[0]!.place = 'claiming';
    readAhead.arm(wake(1, 70, 1), 'told');
    readAhead.arm(wake(1, 10, 0), 'read');
    readAhead.correct(due[0]!, 1_000_000);
    readAhead.again(due[0]!, 1_000_000);
    expect(due[0]!.place).toBe('gone');
    expect(deadlines()).toEqual([70]);
  });

  it('when full, drops the farthest for a nearer one, and refuses a farther one', () => {
    for (const id of [1, 2, 3]) readAhead.arm(wake(id, id * 100), 'read');
    expect(readAhead.arm(wake(4, 400), 'read')).toBe(false);
    expect(readAhead.arm(wake(5, 50), 'read')).toBe(true);
    expect(deadlines()).toHaveLength(MAX);
    wheel.passTo(1_000);
    expect(dueIds().toSorted((a, b) => a - b)).toEqual([1, 2, 5]);
  });

  it('tells of what is overdue in the next turn, all at once, in the order of wakes, without the wheel', async () => {
    const turns: number[][] = [];
    const own = new ReadAhead(wheel.service(), clock, 10, (entries) =>
      turns.push(entries.map(({ id }) => id)),
    );
    wheel.full = true;
    const nowMs = clock.nowMs();
    for (const id of [3, 1, 5, 2, 4])
      expect(own.arm(wake(id, nowMs - 1_000 + id), 'read')).toBe(true);
    own.disarm(5);
    own.arm(wake(4, nowMs - 2_000, 1), 'read');
    expect(turns).toEqual([]);
    await settled();
    expect(turns).toEqual([[4, 1, 2, 3]]);
    expect(wheel.deadlines.size).toBe(0);
    own.arm(wake(6, nowMs), 'read');
    own.close();
    await settled();
    expect(turns).toHaveLength(1);
  });

  it('tells of what fell due in the wheel and of what was overdue when it came in one order', async () => {
    const fromMs = 10_000;
    const now = jest.spyOn(performance, 'now').mockReturnValue(fromMs);
    const service = new WheelService();
    const told: number[] = [];
    const own = new ReadAhead(service, clock, 3_000, (entries) => {
      told.push(...entries.map(({ id }) => id));
    });
    const onDatabaseMs = fromMs - BEHIND_MS;
    // More than the wheel lets expire in one turn. The even ones fall due in it: it sleeps for a minute.
    const ids = Array.from({ length: 2_500 }, (_, id) => id);
    const wakeOf = (id: number): Wake => wake(id, onDatabaseMs + 60_000 + id);
    for (const id of ids.filter((each) => each % 2 === 0)) own.arm(wakeOf(id), 'read');
    now.mockReturnValue(fromMs + 120_000);
    for (const id of ids.filter((each) => each % 2 === 1).toReversed()) own.arm(wakeOf(id), 'read');
    for (let turn = 0; turn < 4; turn += 1) await settled();
    expect(told).toEqual(ids);
    own.close();
    service.onApplicationShutdown();
  });

  it('lends the AsyncLocalStorage of whoever announced something overdue to nobody', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const own = new ReadAhead(wheel.service(), clock, 10, () => seen.push(storage.getStore()));
    storage.run('a request', () => own.arm(wake(1, clock.nowMs()), 'read'));
    await settled();
    expect(seen).toEqual([undefined]);
    own.close();
  });

  it('works all deadlines out anew when the database clock jumped', () => {
    readAhead.arm(wake(1, 1_000_000), 'read');
    clock.jumped.on(() => readAhead.realign());
    // The database's clock is ahead by 900,000 ms all of a sudden.
    clock.sample(0, 0, 900_000 - BEHIND_MS);
    wheel.passTo(99_999);
    expect(dueIds()).toEqual([]);
    wheel.passTo(100_000);
    expect(dueIds()).toEqual([1]);
  });
});
