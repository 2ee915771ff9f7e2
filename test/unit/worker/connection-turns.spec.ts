import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { SlotKeeper } from '../../../src/delay-queue/core/worker/admission.js';
import { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import type { Call } from '../../../src/delay-queue/core/worker/call.js';
import { ReadyQueue } from '../../../src/delay-queue/core/worker/fair-queue.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import type { Throttles } from '../../../src/delay-queue/core/worker/limits.js';
import { ClaimSizes } from '../../../src/delay-queue/core/worker/claim-sizes.js';
import { Loop, type LoopParts } from '../../../src/delay-queue/core/worker/loop.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import type { TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import { job } from '../../support/job.js';
import { nameStates } from '../../support/name-states.js';

const CLAIM_MS = 3;
const CLAIM_BATCH = 500;

/** The handler of a name, and what it has to do. */
interface Work {
  /** How long a call takes. */
  ms: number;
  /** How many delays are due. */
  due: number;
  /** What is left of it is cancelled when so many calls have begun. */
  cancelledAfter?: number | undefined;
  /** A call that waits longer does not begin any more. */
  leaseMs?: number | undefined;
  odd?: Partial<Handler>;
}

const nameOf = (n: number): string => `test.n${n}`;

/** A node in simulated time whose names have a backlog each, and share connections. */
class Node {
  readonly names: NameStates;
  /** Delays in the order in which their calls began. */
  readonly begun: { name: string; id: number }[] = [];
  claims = 0;
  /** Prefetched delays that were given back. */
  givenBack = 0;
  held = 0;
  mostHeld = 0;
  /** Names that had a prefetched call waiting beside a free connection. */
  readonly idle = new Set<string>();
  readonly #ready: ReadyQueue;
  readonly #loop: Loop;
  #epoch = 0;
  /** What is not over yet. */
  #left = 0;
  readonly #entries: Job[] = [];
  readonly #works: ReadonlyMap<string, Work>;

  constructor(
    works: readonly Work[],
    private readonly connections: number,
  ) {
    this.#works = new Map(works.map((work, n) => [nameOf(n), work]));
    const odd = { transactional: true, timeoutMs: 1_000 };
    this.names = nameStates((name) => ({ ...odd, ...this.#works.get(name)?.odd }), connections);
    this.#ready = new ReadyQueue(this.names);
    const queue = {
      take: (...[admit, mayStalled]: Parameters<TimerQueue['take']>) =>
        this.#ready.take(CLAIM_BATCH, admit, mayStalled),
    };
    const throttles = { nowMs: () => 0, isAsking: false } as Throttles;
    const sizes = new ClaimSizes(CLAIM_BATCH, this.names);
    const slots = new SlotKeeper(
      { names: this.names, claimBatch: CLAIM_BATCH, throttles, sizes, queue },
      {
        freed: (name) => this.#loop.slotFreed(name),
        vacant: () => this.#loop.wake(),
      },
    );
    this.#loop = new Loop({
      slots,
      names: this.names,
      claimer: this.#claimer(),
      executor: this.#executor(),
      completer: { size: 0 },
      queue: { claimed: () => {}, forget: () => {}, hasRoomBehind: false, shut: () => {} },
    } as unknown as LoopParts);
  }

  /** Everything is due in turn of its names, and runs. */
  async run(): Promise<void> {
    const most = Math.max(...[...this.#works.values()].map(({ due }) => due));
    for (let n = 0; n < most; n += 1) {
      for (const [name, { due }] of this.#works) if (n < due) this.#push(name);
    }
    this.#left = this.#entries.length;
    this.#loop.wake();
    for (let steps = 0; this.#left > 0; steps += 1) {
      if (steps > 50_000) throw new Error('it never ends');
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      this.#look();
      jest.advanceTimersToNextTimer();
    }
    await this.#loop.stop();
  }

  /** Calls of others between two of a name that had more to do, at most. */
  get mostBetween(): number {
    const lastAt = new Map<string, number>();
    let most = 0;
    for (const [n, { name }] of this.begun.entries()) {
      most = Math.max(most, n - (lastAt.get(name) ?? -1) - 1);
      lastAt.set(name, n);
    }
    return most;
  }

  #push(name: string, id = this.#entries.length + 1): void {
    const entry = job({ id, name });
    this.#entries.push(entry);
    this.#ready.push(entry);
  }

  /** Delays of which no claim is in flight. */
  #cancel(): void {
    for (const entry of this.#entries) {
      const { cancelledAfter } = this.#works.get(entry.name) ?? {};
      if (cancelledAfter !== this.begun.length || entry.state !== 'ready') continue;
      entry.state = 'gone';
      this.#left -= 1;
    }
  }

  #look(): void {
    if (this.held >= this.connections) return;
    for (const { name, waiting, hasSlot } of this.names.all()) {
      if (waiting.size > 0 && hasSlot && !this.#loop.isClaiming) this.idle.add(name);
    }
  }

  #claimer() {
    return {
      claim: async (entries: Job[]) => {
        this.claims += 1;
        await new Promise((done) => setTimeout(done, CLAIM_MS));
        this.#epoch += 1;
        const rows = entries.map(({ id, name }) => [id, { id, epoch: this.#epoch, name }] as const);
        return { rows: new Map(rows), askedAtMs: performance.now() - CLAIM_MS, full: new Set() };
      },
      attempt: ({ id, epoch, name }: { id: number; epoch: number; name: string }) => {
        const row = {
          id,
          epoch,
          name,
          key: null,
          extras: null,
          attempts: 1,
          max_attempts: 3,
        } as never;
        const leaseEndsAtMs = performance.now() + (this.#works.get(name)?.leaseMs ?? Infinity);
        return new Attempt(row, this.names.of(name).handler, leaseEndsAtMs, 0);
      },
      stop: () => {},
    };
  }

  #executor() {
    return {
      run: (call: Call) => {
        const { name } = call.handler;
        for (const { id } of call.attempts) this.begun.push({ name, id });
        this.#cancel();
        this.held += 1;
        this.mostHeld = Math.max(this.mostHeld, this.held);
        setTimeout(() => {
          this.held -= 1;
          this.#left -= call.attempts.length;
          call.slot.release();
        }, this.#works.get(name)?.ms);
      },
      end: (call: Call) => {
        this.givenBack += 1;
        for (const { id } of call.attempts) {
          setTimeout(() => {
            this.#push(call.handler.name, id);
            this.#loop.wake();
          }, CLAIM_MS);
        }
        call.slot.release();
      },
    };
  }
}

beforeEach(() => {
  jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate', 'clearImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

async function run(works: readonly Work[], connections: number): Promise<Node> {
  const node = new Node(works, connections);
  await node.run();
  return node;
}

const times = (count: number, work: Work): Work[] => Array.from({ length: count }, () => work);

const TIMES = fc.constantFrom(1, 2, 5, 15, 30, 300);

describe('names that share connections, with a backlog each', () => {
  it('run all that is due, with all connections and no more, each name in its order', async () => {
    const kinds: Partial<Handler>[] = [{}, {}, {}, { maxAttempts: 1 }, { batch: 3 }];
    const work = fc
      .record({
        ms: TIMES,
        due: fc.constantFrom(1, 10, 40),
        cancelledAfter: fc.constantFrom(undefined, undefined, 3, 20),
        leaseMs: fc.constantFrom(undefined, undefined, 20),
        concurrency: fc.constantFrom(1, 2, 10),
        kind: fc.constantFrom(...kinds),
      })
      .map(({ concurrency, kind, ...rest }) => ({ ...rest, odd: { concurrency, ...kind } }));
    const property = fc.asyncProperty(
      fc.array(work, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 4 }),
      async (works, connections) => {
        const node = await run(works, connections);
        const ids = node.begun.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(node.mostHeld).toBeLessThanOrEqual(connections);
        expect([...node.idle]).toEqual([]);
        for (const [n, { odd }] of works.entries()) {
          if (odd.concurrency > 1 || node.givenBack > 0) continue;
          const own = node.begun.filter(({ name }) => name === nameOf(n)).map(({ id }) => id);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it('take turns, whether they are quick or slow, prefetched or not', async () => {
    const work = fc.record({
      ms: TIMES,
      due: fc.constant(60),
      odd: fc.constantFrom({}, {}, { maxAttempts: 1 }),
    });
    const property = fc.asyncProperty(
      fc.array(work, { minLength: 2, maxLength: 6 }),
      fc.integer({ min: 1, max: 4 }),
      async (works, connections) => {
        const { mostBetween } = await run(works, connections);
        // Others run while a name is claimed, and several connections may be free at once.
        expect(mostBetween).toBeLessThanOrEqual(works.length + connections + 8);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it.each([1, 2, 5])(
    'are claimed many at a time while they are quick: %d of them',
    async (count) => {
      const node = await run(times(count, { ms: 4, due: 500 }), 8);
      expect(node.claims / node.begun.length).toBeLessThan(0.05);
      expect(node.givenBack).toBe(0);
    },
  );

  it('prefetch no more than begins soon, however many there are', async () => {
    const node = await run(times(20, { ms: 2, due: 60 }), 2);
    expect(node.givenBack).toBe(0);
  });

  it('are not prefetched while they are slow', async () => {
    const node = await run(
      [300, 500, 700].map((ms) => ({ ms, due: 40 })),
      2,
    );
    expect(node.claims).toBeLessThanOrEqual(node.begun.length);
    expect(node.givenBack).toBe(0);
  });
});
