import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import {
  admission,
  type ClaimTerms,
  SlotKeeper,
} from '../../../src/delay-queue/worker/admission.js';
import { ClaimSizes, Throttles } from '../../../src/delay-queue/worker/limits.js';
import type { Handler, Limit } from '../../../src/delay-queue/handlers/handler.registry.js';
import { type Entry, ReadyQueue } from '../../../src/delay-queue/worker/fair-queue.js';
import { NameState, type NameStates } from '../../../src/delay-queue/worker/name-state.js';
import { StatementSize } from '../../../src/delay-queue/store/statement-size.js';
import type { TimerQueue } from '../../../src/delay-queue/worker/timer-queue.js';
import { WheelService } from '../../../src/delay-queue/timer-wheel/wheel.service.js';
import { nameStates } from '../../support/name-states.js';

const NOW_MS = 10_000;
const OVERRUNNING_MAX = 1_000;
const UNLIMITED: Limit = { concurrency: 0, burst: 0, refillPerMs: 0 };

const wheel = new WheelService();
afterAll(() => wheel.onApplicationShutdown());

let lastId = 0;
const entry = (name: string, odd: Partial<Entry> = {}): Entry => {
  const usual = { epoch: 0, group: null, wakeMs: 0, stalled: false, failed: false, handle: 0 };
  const known = { state: 'ready', timesNotClaimed: 0, hinted: false, scanNo: 0 } as const;
  return { id: ++lastId, name, ...usual, ...known, ...odd };
};

/** A node: names, what is due of them, and what gives it slots. */
class Node {
  readonly names: NameStates;
  readonly ready: ReadyQueue;
  readonly keeper: SlotKeeper;

  constructor(odd: (name: string) => Partial<Handler>, claimBatch = 500, connections = 5) {
    this.names = nameStates(odd, connections);
    this.ready = new ReadyQueue(this.names);
    const to = { throttleEnded: () => {}, vacant: () => {} };
    const throttles = new Throttles(wheel, this.names, to);
    const queue = {
      take: (...[admit, mayStalled]: Parameters<TimerQueue['take']>) =>
        this.ready.take(claimBatch, admit, mayStalled),
    };
    this.keeper = new SlotKeeper(
      this.names,
      claimBatch,
      throttles,
      new ClaimSizes(claimBatch, this.names),
      queue,
      { freed: () => {}, vacant: () => {} },
    );
  }

  of(name: string): NameState {
    return this.names.of(name);
  }

  push(...entries: Entry[]): Entry[] {
    for (const each of entries) this.ready.push(each);
    return entries;
  }
}

describe('admission, of any state', () => {
  /** What is drawn: a handler, what runs of it, and what is due. */
  const STATES = fc.record({
    concurrency: fc.integer({ min: 1, max: 6 }),
    batch: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null }),
    isLimited: fc.boolean(),
    limit: fc.nat(4),
    running: fc.nat(6),
    prefetched: fc.nat(40),
    asked: fc.nat(40),
    meanMs: fc.constantFrom(0.01, 1, 5, 19, 20, Infinity),
    overrunning: fc.constantFrom(0, 0, OVERRUNNING_MAX - 1, OVERRUNNING_MAX),
    due: fc.nat(20),
    stalledDue: fc.constantFrom(0, 0, 1),
    batches: fc.nat(6),
    begunAgoMs: fc.nat(200),
    size: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    throttledForMs: fc.constantFrom(undefined, undefined, 0, 1),
  });
  type Drawn = typeof STATES extends fc.Arbitrary<infer State> ? State : never;

  const TERMS: fc.Arbitrary<ClaimTerms> = fc.record({
    nowMs: fc.constant(NOW_MS),
    limitsNowMs: fc.constant(NOW_MS / 2),
    isLimitedInFlight: fc.boolean(),
    claimBatch: fc.integer({ min: 1, max: 50 }),
  });

  function stateOf(drawn: Drawn): NameState {
    const { concurrency, batch, isLimited, limit, begunAgoMs, size, throttledForMs } = drawn;
    const limits = isLimited
      ? { all: { ...UNLIMITED, concurrency: limit }, perGroup: UNLIMITED }
      : null;
    const handler = { name: 'a', concurrency, batch, limits, transactional: false, maxAttempts: 3 };
    const name = new NameState(handler as unknown as Handler);
    const { meanMs, overrunning, due, stalledDue } = drawn;
    Object.assign(name, { meanMs, overrunning, due, stalledDue });
    name.running = Math.min(drawn.running, concurrency);
    const mayPrefetch = name.mayPrefetch({ failed: false, stalled: false });
    name.prefetched = mayPrefetch ? drawn.prefetched : 0;
    name.asked = Math.min(name.prefetched, drawn.asked);
    name.batches = (batch ?? 1) > 1 ? Math.min(drawn.batches, name.running) : 0;
    name.batchBeganAtMs = NOW_MS - begunAgoMs;
    if (size !== undefined) name.claimSize = new StatementSize(size);
    if (limits !== null && throttledForMs !== undefined) {
      const untilMs = NOW_MS / 2 + throttledForMs;
      name.throttles.set('', { of: name, group: '', untilMs, isFull: true });
    }
    return name;
  }

  const holds = (property: (name: NameState, terms: ClaimTerms) => void): void =>
    fc.assert(
      fc.property(STATES, TERMS, (drawn, terms) => property(stateOf(drawn), terms)),
      { numRuns: 500 },
    );

  const mostPrefetched = (name: NameState, { claimBatch }: ClaimTerms): number =>
    Math.min(claimBatch, Math.floor((name.handler.concurrency * 20) / name.meanMs));

  const allOf = ({ slots, prefetch, batches, delays }: ReturnType<typeof admission>): number[] => [
    slots,
    prefetch,
    batches,
    delays,
  ];

  it('reads no clock and changes nothing', () => {
    holds((name, terms) => {
      Object.freeze(name);
      const spied = jest.spyOn(performance, 'now').mockImplementation(() => {
        throw new Error('a clock was read');
      });
      expect(admission(name, terms)).toEqual(admission(name, terms));
      spied.mockRestore();
    });
  });

  it('never gives more than concurrency, limits, claims and prefetching allow', () => {
    holds((name, terms) => {
      const { slots, prefetch, delays } = admission(name, terms);
      expect(slots + name.running).toBeLessThanOrEqual(name.handler.concurrency);
      if (prefetch > 0) {
        expect(prefetch + name.prefetched).toBeLessThanOrEqual(mostPrefetched(name, terms));
      }
      const limit = name.handler.limits?.all.concurrency || Infinity;
      const most = Math.min(terms.claimBatch, name.claimSize?.now ?? Infinity, limit);
      expect(delays).toBeLessThanOrEqual(most);
      expect(Math.min(slots, prefetch, delays)).toBeGreaterThanOrEqual(0);
    });
  });

  it('prefetches quick delays alone, and refills what is half empty, up to the bound', () => {
    holds((name, terms) => {
      const { prefetch, heldBy } = admission(name, terms);
      const isQuick = name.mayPrefetch({ failed: false, stalled: false }) && name.meanMs < 20;
      const most = mostPrefetched(name, terms);
      const isRefilled =
        isQuick && name.stalledDue === 0 && heldBy === 'slots' && name.prefetched * 2 <= most;
      expect(prefetch).toBe(isRefilled ? most - name.prefetched : 0);
    });
  });

  it('gives nothing to a name that is throttled, cools down, or waits for its claim', () => {
    holds((name, terms) => {
      const { limits, concurrency } = name.handler;
      const { heldBy, untilMs, ...allowed } = admission(name, terms);
      const isThrottled = (name.throttles.get('')?.untilMs ?? 0) > terms.limitsNowMs;
      const isClaimed = limits !== null && terms.isLimitedInFlight;
      const isAsked = concurrency === 1 && name.asked > 0;
      const mustCoolDown = name.overrunning >= OVERRUNNING_MAX;
      if (!isThrottled && !isClaimed && !isAsked && !mustCoolDown) {
        expect(['slots', 'pace']).toContain(heldBy);
        return;
      }
      expect(allowed).toEqual({ slots: 0, prefetch: 0, isQueued: false, batches: 0, delays: 0 });
      expect(['throttle', 'claim', 'cool-down']).toContain(heldBy);
      expect(untilMs).toBe(heldBy === 'throttle' ? name.throttles.get('')?.untilMs : Infinity);
    });
  });

  it('begins a batch that is full, or one whose pause has passed', () => {
    holds((name, terms) => {
      const { batch } = name.handler;
      const { slots, batches, heldBy, untilMs } = admission(name, terms);
      if (heldBy !== 'slots' && heldBy !== 'pace') return;
      if (batch === null || batch === 1) {
        expect([batches, untilMs]).toEqual([Infinity, Infinity]);
        return;
      }
      const pauseMs = (running: number): number => Math.min(1_000, 5 * 2 ** (running - 1));
      const full = Math.floor(name.due / batch);
      const passesAtMs = name.batches === 0 ? 0 : name.batchBeganAtMs + pauseMs(name.batches);
      expect(batches).toBe(full === 0 && passesAtMs <= NOW_MS ? 1 : full);
      expect(heldBy).toBe(batches < slots ? 'pace' : 'slots');
      const nextMs = batches === 0 ? passesAtMs : NOW_MS + pauseMs(name.batches + batches);
      expect(untilMs).toBe(batches < slots ? nextMs : Infinity);
    });
  });

  it('never gives less when there is more capacity', () => {
    const more: ((drawn: Drawn) => Drawn)[] = [
      (drawn) => ({ ...drawn, concurrency: drawn.concurrency + 1 }),
      (drawn) => ({ ...drawn, running: Math.max(0, drawn.running - 1) }),
      (drawn) => ({ ...drawn, overrunning: 0 }),
      (drawn) => ({ ...drawn, prefetched: Math.max(0, drawn.prefetched - 1) }),
      (drawn) => ({ ...drawn, meanMs: drawn.meanMs / 2 }),
      (drawn) => ({ ...drawn, throttledForMs: undefined }),
      (drawn) => ({ ...drawn, begunAgoMs: drawn.begunAgoMs + 1 }),
      (drawn) => ({ ...drawn, due: drawn.due + 1 }),
      (drawn) => ({ ...drawn, stalledDue: 0 }),
      (drawn) => ({ ...drawn, limit: drawn.limit === 0 ? 0 : drawn.limit + 1 }),
    ];
    const property = fc.property(STATES, TERMS, fc.constantFrom(...more), (drawn, terms, add) => {
      const before = allOf(admission(stateOf(drawn), terms));
      const after = allOf(admission(stateOf(add(drawn)), terms));
      before.forEach((least, n) => expect(after[n]).toBeGreaterThanOrEqual(least));
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});

describe('slots, however claims and calls come and go', () => {
  const HANDLERS: Record<string, Partial<Handler>> = {
    plain: { concurrency: 3 },
    one: { concurrency: 1 },
    batch: { concurrency: 3, batch: 3 },
    fenced: { concurrency: 2, transactional: true },
    other: { concurrency: 2, transactional: true },
    limited: { limits: { all: { ...UNLIMITED, concurrency: 2 }, perGroup: UNLIMITED } },
  };
  const CONNECTIONS = 3;
  const CLAIM_BATCH = 8;
  const STEPS = fc.array(
    fc.oneof(
      fc.record({
        due: fc.constantFrom(...Object.keys(HANDLERS)),
        odd: fc.constantFrom({}, {}, {}, { failed: true }, { stalled: true }),
      }),
      fc.constantFrom('claim', 'claim', 'answer', 'end'),
    ),
    { minLength: 20, maxLength: 200 },
  );

  it('are never more than there are, and each is given back', () => {
    const property = fc.property(STEPS, (steps) => {
      const node = new Node((name) => HANDLERS[name] ?? {}, CLAIM_BATCH, CONNECTIONS);
      const names = Object.keys(HANDLERS).map((name) => node.of(name));
      for (const name of names) name.meanMs = 5;
      const claims: (typeof calls)[] = [];
      let calls: ReturnType<SlotKeeper['admit']>['calls'][number][] = [];
      let waiting: typeof calls = [];
      const check = (): void => {
        for (const { handler, running, prefetched, asked } of names) {
          expect(running).toBeLessThanOrEqual(handler.concurrency);
          expect(prefetched).toBeLessThanOrEqual(
            Math.min(CLAIM_BATCH, (handler.concurrency * 20) / 5),
          );
          expect(asked).toBeLessThanOrEqual(prefetched);
        }
        const inTransactions = node.of('fenced').running + node.of('other').running;
        expect(inTransactions).toBeLessThanOrEqual(CONNECTIONS);
      };
      const begin = (some: typeof calls): void => {
        const isFirst = (name: NameState) => !waiting.some((each) => each.name === name);
        for (const call of some) {
          if (call.takeSlot(isFirst(call.name))) calls.push(call);
          else waiting.push(call);
        }
      };
      const step = (what: (typeof steps)[number]): void => {
        if (typeof what === 'object') node.push(entry(what.due, what.odd));
        else if (what === 'answer') begin(claims.shift() ?? []);
        else if (what === 'end') {
          calls.shift()?.release();
          const left = waiting;
          waiting = [];
          begin(left);
        } else {
          const admitted = [...node.keeper.admit(NOW_MS).calls];
          const delays = admitted.flatMap(({ entries }) => entries);
          expect(delays.length).toBeLessThanOrEqual(CLAIM_BATCH);
          const limited = delays.filter(({ name }) => name === 'limited');
          expect([0, delays.length]).toContain(limited.length);
          expect(limited.length).toBeLessThanOrEqual(2);
          if (admitted.length > 0) claims.push(admitted);
        }
      };
      for (const what of steps) {
        step(what);
        check();
      }
      for (const claim of claims) begin(claim);
      for (const call of [...calls, ...waiting]) call.release();
      for (const { running, prefetched, asked, batches } of names) {
        expect([running, prefetched, asked, batches]).toEqual([0, 0, 0, 0]);
      }
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('a name without capacity keeps its position', () => {
    const names = ['a', 'b', 'c', 'd'];
    const property = fc.property(
      fc.shuffledSubarray(names, { minLength: 1 }),
      fc.nat(3),
      (order, claimsInVain) => {
        const node = new Node(() => ({ concurrency: 1 }));
        for (const name of names) node.names.acquire(node.of(name));
        for (const name of order) node.push(entry(name), entry(name));
        for (let n = 0; n < claimsInVain; n += 1) {
          expect(node.keeper.admit(NOW_MS).calls).toEqual([]);
        }
        for (const name of names) node.names.release(node.of(name));
        const { calls } = node.keeper.admit(NOW_MS);
        expect(calls.map(({ name }) => name.name)).toEqual(order);
      },
    );
    fc.assert(property);
  });
});

describe('a claim', () => {
  const NAMES = { a: 3, b: 3, ones: 1, plain: null, one: null };
  let node: Node;

  beforeEach(() => {
    node = new Node((name) => ({
      batch: NAMES[name as 'a'],
      concurrency: name === 'one' ? 1 : 9,
    }));
  });

  /** A call of a batch that began then. */
  const runs = (agoMs: number, name = 'a'): void => {
    node.names.acquire(node.of(name));
    node.of(name).batchBegan(NOW_MS - agoMs);
  };

  const called = () => node.keeper.admit(NOW_MS).calls.map(({ entries }) => entries);

  const due = (count: number): Entry[] =>
    node.push(...Array.from({ length: count }, () => entry('a')));

  it('has one slot for each batch, and the next batch when it is full', () => {
    for (let taken = 0; taken < 7; taken += 1) node.names.acquire(node.of('a'));
    const entries = due(8);
    expect(called()).toEqual([entries.slice(0, 3), entries.slice(3, 6)]);
    expect([node.of('a').due, node.of('a').running]).toEqual([2, 9]);
  });

  it('has a call of its own for what failed before, wherever it comes', () => {
    const kinds = [{ failed: true }, {}, {}, {}, { failed: true }];
    const entries = node.push(...kinds.map((kind) => entry('a', kind)));
    expect(called()).toEqual([[entries[0]], entries.slice(1, 4), [entries[4]]]);
    node.push(entry('a', { stalled: true }), entry('a', { stalled: true }));
    expect(called()).toMatchObject([[{ stalled: true }]]);
    // Stalled delays run one at a time.
    expect(called()).toEqual([]);
  });

  it('of a name that runs one at a time leaves a free slot to those that wait', () => {
    const one = node.of('one');
    one.took(1, false);
    one.ask();
    expect(admissionOf(one).heldBy).toBe('claim');
    one.answered();
    node.push(entry('one'), entry('one', { failed: true }));
    const { calls } = node.keeper.admit(NOW_MS);
    // A delay that may not wait would otherwise never begin.
    expect(calls.map(({ entries: [{ failed }] }) => [failed, one.running])).toEqual([
      [false, 1],
      [true, 1],
    ]);
    expect(one.prefetched).toBe(2);
  });

  const admissionOf = (name: NameState) =>
    admission(name, {
      nowMs: NOW_MS,
      limitsNowMs: NOW_MS,
      isLimitedInFlight: false,
      claimBatch: 500,
    });

  it.each([
    ['that is not full waits for the rest of the pause, and takes no slot', 1, 2, [], 4, 1],
    ['that is full begins at once, and what is beyond it waits from then on', 1, 4, [3], 10, 2],
    ['begins when the pause has passed', 5, 2, [2], Infinity, 2],
  ])('beside a call that runs, a batch %s', (_, agoMs, count, sizes, pauseLeftMs, running) => {
    runs(agoMs);
    due(count);
    const claim = node.keeper.admit(NOW_MS);
    expect(claim.calls.map(({ entries }) => entries.length)).toEqual(sizes);
    expect([claim.pauseLeftMs, node.of('a').running]).toEqual([pauseLeftMs, running]);
  });

  it.each(['ab', 'ba'])('reports the shortest of the pauses of its names: %s', (names) => {
    runs(1);
    for (let begun = 0; begun < 3; begun += 1) runs(0, 'b');
    for (const name of names) node.push(entry(name));
    expect(node.keeper.admit(NOW_MS)).toEqual({ calls: [], pauseLeftMs: 4 });
  });

  it('without a slot reports no pause', () => {
    for (let running = 0; running < 9; running += 1) runs(0);
    due(2);
    expect(node.keeper.admit(NOW_MS)).toEqual({ calls: [], pauseLeftMs: Infinity });
  });

  it.each<[string, string, Partial<Entry>]>([
    ['failed before', 'a', { failed: true }],
    ['went down with a process', 'a', { stalled: true }],
    ['is of a batch of one', 'ones', {}],
    ['is of a name without batches', 'plain', {}],
  ])('does not pace what %s: it has its call to itself', (_, name, odd) => {
    runs(1);
    node.push(entry(name, odd));
    const { calls } = node.keeper.admit(NOW_MS);
    expect(calls).toHaveLength(1);
    calls[0]?.release();
    expect([node.of(name).batches, node.of('a').batches]).toEqual([name === 'a' ? 1 : 0, 1]);
  });
});

describe('how long calls take', () => {
  let name: NameState;
  const room = () => name.roomToPrefetch(500);
  const took = (ms: number, times = 1, atOnce = false): void => {
    for (let n = 0; n < times; n += 1) name.took(ms, atOnce);
  };

  beforeEach(() => {
    name = nameStates().of('a');
  });

  it.each([
    [10, 20],
    [19, 10],
    [20, 0],
    [0.001, 500],
  ])('%d ms, at ten slots: so many may be prefetched: %d', (ms, most) => {
    // Not known yet.
    expect(room()).toBe(0);
    took(ms);
    expect(room()).toBe(most);
  });

  it('one after the other, for they return no promise: as with one slot', () => {
    took(1, 1, true);
    expect(room()).toBe(20);
  });

  it('a few that take longer count at once, and are forgotten slowly', () => {
    took(1);
    took(200, 2);
    expect(room()).toBe(0);
    took(1, 10);
    expect(room()).toBeLessThan(20);
    took(1, 100);
    expect(room()).toBeGreaterThan(150);
  });

  it('too long for those that waited: none is prefetched until they are quick again', () => {
    took(1);
    name.isSlow();
    expect(room()).toBe(0);
    took(1);
    expect(room()).toBeGreaterThan(0);
  });

  it.each<[boolean, Partial<Entry>, Partial<Handler>]>([
    [true, {}, {}],
    [false, { failed: true }, {}],
    [false, { stalled: true }, {}],
    [false, {}, { batch: 5 }],
    [false, {}, { transactional: true }],
    [false, {}, { limits: { all: UNLIMITED, perGroup: UNLIMITED } }],
    [false, {}, { maxAttempts: 1 }],
  ])('a delay may be prefetched: %p, if it is %j of %j', (may, odd, handler) => {
    expect(
      nameStates(() => handler)
        .of('a')
        .mayPrefetch(entry('a', odd)),
    ).toBe(may);
  });
});
