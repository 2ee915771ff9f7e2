import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import type { HandlerLimit } from '../../../src/delay-queue/core/handlers/handler-limits.js';
import { StatementSize } from '../../../src/delay-queue/core/store/statement-size.js';
import {
  admission,
  type Allowance,
  type ClaimTerms,
} from '../../../src/delay-queue/core/worker/allowance.js';
import { HandlerConnections, NameState } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';

const NOW_MS = 10_000;
const OVERRUNNING_MAX = 1_000;
const UNLIMITED: HandlerLimit = { concurrency: 0, burst: 0, refillPerMs: 0 };

const allOf = ({ slots, prefetch, batches, delays }: Allowance): number[] => [
  slots,
  prefetch,
  batches,
  delays,
];

const pauseMs = (running: number): number => Math.min(1_000, 5 * 2 ** (running - 1));

const NOTHING = { slots: 0, prefetch: 0, isQueued: false, batches: 0, delays: 0 };

describe('admission, of any state', () => {
  /** What is drawn: a handler, what runs of it, and what is due. */
  const STATES = fc.record({
    concurrency: fc.integer({ min: 1, max: 6 }),
    batch: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null, freq: 1 }),
    transactional: fc.boolean(),
    connections: fc.integer({ min: 1, max: 8 }),
    othersInTurn: fc.nat(3),
    othersMs: fc.constantFrom(0.1, 2, 15, 40),
    isLimited: fc.constantFrom(false, false, true),
    limit: fc.nat(4),
    running: fc.nat(6),
    prefetched: fc.nat(40),
    asked: fc.nat(40),
    meanMs: fc.constantFrom(0.01, 1, 5, 16, 20, Infinity),
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
    isAsked: fc.boolean(),
  });

  function stateOf(drawn: Drawn): NameState {
    const { concurrency, batch, isLimited, limit, begunAgoMs, size, throttledForMs } = drawn;
    const limits = isLimited
      ? { all: { ...UNLIMITED, concurrency: limit }, perGroup: UNLIMITED }
      : null;
    const { transactional, othersMs, othersInTurn } = drawn;
    const connections = new HandlerConnections(drawn.connections);
    connections.meanMs = othersMs;
    const handler = { name: 'a', concurrency, batch, limits, transactional, maxAttempts: 3 };
    const name = new NameState(handler as unknown as Handler, connections);
    for (let n = 0; n < othersInTurn; n += 1) connections.wants(new NameState(name.handler));
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

  const mostPrefetched = (name: NameState, { claimBatch }: ClaimTerms, drawn: Drawn): number => {
    const perMs = name.handler.concurrency / name.meanMs;
    const inTurn = drawn.connections / ((drawn.othersInTurn + 1) * drawn.othersMs);
    const fit = drawn.transactional ? 25 * Math.min(perMs, inTurn) : 20 * perMs;
    return Math.min(claimBatch, Math.floor(fit));
  };

  const holds = (property: (name: NameState, terms: ClaimTerms, drawn: Drawn) => void): void =>
    fc.assert(
      fc.property(STATES, TERMS, (drawn, terms) => property(stateOf(drawn), terms, drawn)),
      { numRuns: 1_000 },
    );

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
    holds((name, terms, drawn) => {
      const { slots, prefetch, delays } = admission(name, terms);
      expect(slots + name.running).toBeLessThanOrEqual(name.handler.concurrency);
      const prefetched = prefetch > 0 ? prefetch + name.prefetched : 0;
      expect(prefetched).toBeLessThanOrEqual(mostPrefetched(name, terms, drawn));
      const limit = name.handler.limits?.all.concurrency || Infinity;
      const most = Math.min(terms.claimBatch, name.claimSize?.now ?? Infinity, limit);
      expect(delays).toBeLessThanOrEqual(most);
      expect(Math.min(slots, prefetch, delays)).toBeGreaterThanOrEqual(0);
    });
  });

  it('prefetches quick delays alone, and refills what is half empty, or less if a claim goes out anyway, up to the bound', () => {
    holds((name, terms, drawn) => {
      const { prefetch, heldBy } = admission(name, terms);
      const isQuick = name.mayPrefetch({ failed: false, stalled: false }) && name.meanMs < 20;
      const most = mostPrefetched(name, terms, drawn);
      const isRefilled =
        isQuick &&
        name.stalledDue === 0 &&
        heldBy === 'slots' &&
        (terms.isAsked || name.prefetched * 2 <= most);
      expect(prefetch).toBe(isRefilled ? Math.max(0, most - name.prefetched) : 0);
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
      const isHeld = isThrottled || isClaimed || isAsked || mustCoolDown;
      const reasons = isHeld ? ['throttle', 'claim', 'cool-down'] : ['slots', 'pace'];
      expect(reasons).toContain(heldBy);
      const throttledUntilMs = name.throttles.get('')?.untilMs;
      const held = { ...NOTHING, untilMs: heldBy === 'throttle' ? throttledUntilMs : Infinity };
      expect({ ...allowed, untilMs }).toEqual(isHeld ? held : { ...allowed, untilMs });
    });
  });

  it('begins a batch that is full, or one whose pause has passed', () => {
    holds((name, terms) => {
      const { batch } = name.handler;
      const { slots, batches, heldBy, untilMs } = admission(name, terms);
      fc.pre(heldBy === 'slots' || heldBy === 'pace');
      const full = batch === null || batch === 1 ? Infinity : Math.floor(name.due / batch);
      const passesAtMs = name.batches === 0 ? 0 : name.batchBeganAtMs + pauseMs(name.batches);
      expect(batches).toBe(full === 0 && passesAtMs <= NOW_MS ? 1 : full);
      expect(heldBy).toBe(batches < slots ? 'pace' : 'slots');
      const nextMs = batches === 0 ? passesAtMs : NOW_MS + pauseMs(name.batches + batches);
      expect(untilMs).toBe(batches < slots ? nextMs : Infinity);
    });
  });

  it('never gives less when there is more capacity', () => {
    const more: ((drawn: Drawn) => Drawn)[] = [
      // `stateOf` bounds what runs by the concurrency, and no more is to run than before.
      (drawn) => ({
        ...drawn,
        concurrency: drawn.concurrency + 1,
        running: Math.min(drawn.running, drawn.concurrency),
      }),
      (drawn) => ({ ...drawn, running: Math.max(0, drawn.running - 1) }),
      (drawn) => ({ ...drawn, overrunning: 0 }),
      (drawn) => ({ ...drawn, connections: drawn.connections + 1 }),
      (drawn) => ({ ...drawn, othersInTurn: Math.max(0, drawn.othersInTurn - 1) }),
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

describe('how long calls take', () => {
  let name: NameState;
  const room = () => name.roomToPrefetch(500, false);
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

  it.each<[boolean, object, Partial<Handler>]>([
    [true, {}, {}],
    [false, { failed: true }, {}],
    [false, { stalled: true }, {}],
    [false, {}, { batch: 5 }],
    [true, {}, { transactional: true }],
    [false, {}, { transactional: true, maxAttempts: 1 }],
    [false, {}, { limits: { all: UNLIMITED, perGroup: UNLIMITED } }],
    [false, {}, { maxAttempts: 1 }],
  ])('a delay may be prefetched: %p, if it is %j of %j', (may, odd, handler) => {
    expect(
      nameStates(() => handler)
        .of('a')
        .mayPrefetch({ failed: false, stalled: false, ...odd }),
    ).toBe(may);
  });
});
