import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import type { HandlerLimit } from '../../../src/delay-queue/core/handlers/handler-limits.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';
import { SlotKeeper } from '../../../src/delay-queue/core/worker/admission.js';
import { admission } from '../../../src/delay-queue/core/worker/allowance.js';
import { ReadyQueue } from '../../../src/delay-queue/core/worker/fair-queue.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import { Throttles } from '../../../src/delay-queue/core/worker/limits.js';
import { ClaimSizes } from '../../../src/delay-queue/core/worker/claim-sizes.js';
import type { NameState, NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import type { TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import { job } from '../../support/job.js';
import { nameStates } from '../../support/name-states.js';

const NOW_MS = 10_000;
const UNLIMITED: HandlerLimit = { concurrency: 0, burst: 0, refillPerMs: 0 };

const wheel = new WheelService();
afterAll(() => wheel.onApplicationShutdown());

const entry = (name: string, odd: Partial<Job> = {}): Job => job({ name, ...odd });

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
    const sizes = new ClaimSizes(claimBatch, this.names);
    const parts = { names: this.names, claimBatch, throttles, sizes, queue };
    this.keeper = new SlotKeeper(parts, { freed: () => {}, vacant: () => {} });
  }

  of(name: string): NameState {
    return this.names.of(name);
  }

  push(...entries: Job[]): Job[] {
    for (const each of entries) this.ready.push(each);
    return entries;
  }
}

const admissionOf = (name: NameState) =>
  admission(name, {
    nowMs: NOW_MS,
    limitsNowMs: NOW_MS,
    isLimitedInFlight: false,
    claimBatch: 500,
    isAsked: false,
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

  /** Of one claim. */
  const checkClaim = (delays: readonly Job[]): void => {
    expect(delays.length).toBeLessThanOrEqual(CLAIM_BATCH);
    const limited = delays.filter(({ name }) => name === 'limited');
    expect([0, delays.length]).toContain(limited.length);
    expect(limited.length).toBeLessThanOrEqual(2);
  };

  it('are never more than there are, and each is given back', () => {
    const property = fc.property(STEPS, (steps) => {
      const node = new Node((name) => HANDLERS[name] ?? {}, CLAIM_BATCH, CONNECTIONS);
      const names = Object.keys(HANDLERS).map((name) => node.of(name));
      for (const name of [...names, node.names.connections]) name.meanMs = 5;
      const claims: (typeof calls)[] = [];
      let calls: ReturnType<SlotKeeper['admit']>['calls'][number][] = [];
      let waiting: typeof calls = [];
      const check = (): void => {
        for (const { handler, running, prefetched, asked } of names) {
          const { concurrency, transactional } = handler;
          const aheadMax = Math.min(CLAIM_BATCH, (concurrency * (transactional ? 25 : 20)) / 5);
          // Not an expectation for each of half a million comparisons: that took four seconds.
          if (running > concurrency || prefetched > aheadMax || asked > prefetched) {
            throw new Error(`${handler.name}: ${running} run, ${prefetched} ahead, ${asked} asked`);
          }
        }
        const inTransactions = node.of('fenced').running + node.of('other').running;
        if (inTransactions > CONNECTIONS) throw new Error(`${inTransactions} transactions`);
      };
      const begin = (some: typeof calls): void => {
        for (const call of some) {
          const isFirst = !waiting.some(({ name }) => name === call.name);
          if (call.takeSlot(isFirst)) calls.push(call);
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
          checkClaim(admitted.flatMap(({ entries }) => entries));
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

  const due = (count: number): Job[] =>
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

  it.each<[string, string, Partial<Job>]>([
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
