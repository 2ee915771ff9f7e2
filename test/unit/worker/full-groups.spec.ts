import { afterAll, expect, it } from '@jest/globals';
import { Throttles } from '../../../src/delay-queue/core/worker/limits.js';
import { ClaimSizes } from '../../../src/delay-queue/core/worker/claim-sizes.js';
import { SlotKeeper } from '../../../src/delay-queue/core/worker/admission.js';
import { ReadyQueue } from '../../../src/delay-queue/core/worker/fair-queue.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import type { TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';
import { job } from '../../support/job.js';
import { nameStates } from '../../support/name-states.js';
import { visitsOf } from '../../support/visits.js';

const NAME = 'test.tenant';
const NONE = { concurrency: 0, burst: 0, refillPerMs: 0 };
const ONCE_AN_HOUR = { concurrency: 0, burst: 1, refillPerMs: 1 / 3_600_000 };
const DELAYS = 200;

const wheel = new WheelService();
afterAll(() => wheel.onApplicationShutdown());

const entry = (group: string, stalled = false): Job => job({ name: NAME, group, stalled });

/** What the way of a delay has in memory, between being due and its claim; so many groups wait for their rate. */
class Way {
  readonly #names = nameStates(() => ({
    concurrency: 100_000,
    limits: { all: NONE, perGroup: ONCE_AN_HOUR },
  }));
  readonly #ready = new ReadyQueue(this.#names);
  readonly #throttles = new Throttles(wheel, this.#names, {
    throttleEnded: ({ of, group }) => this.#ready.release(of.name, group),
    vacant: () => {},
  });
  readonly #slots: SlotKeeper;

  constructor(waiting: number) {
    const queue = {
      take: (...[admit, mayStalled]: Parameters<TimerQueue['take']>) =>
        this.#ready.take(500, admit, mayStalled),
    };
    const sizes = new ClaimSizes(500, this.#names);
    const to = { freed: () => {}, vacant: () => {} };
    const parts = { names: this.#names, claimBatch: 500, throttles: this.#throttles, sizes, queue };
    this.#slots = new SlotKeeper(parts, to);
    for (let n = 0; n < waiting; n += 1) this.#spend(`g${n}`);
    for (let n = 0; n < waiting; n += 1) this.#ready.push(entry(`g${n}`, n % 3 === 0));
    this.#slots.admit(performance.now());
  }

  /** One that falls due is reserved, claimed and over. */
  run(group: string): void {
    this.#ready.push(entry(group));
    const { calls } = this.#slots.admit(performance.now());
    if (calls.length !== 1) throw new Error(`${calls.length} calls began for ${group}`);
    this.#spend(group);
    for (const call of calls) {
      call.takeSlot();
      call.release();
    }
    this.#throttles.freed(NAME, group);
  }

  /** A claim says that the rate of the group is used up. */
  #spend(group: string): void {
    this.#throttles.ask();
    this.#throttles.learn([{ name: NAME, group, slots: 0, waitMs: 3_600_000 }]);
    this.#throttles.answered();
  }
}

it.each([10, 1_000, 100_000])(
  'a delay that runs walks through none of %i groups that wait for their rate',
  (waiting) => {
    const way = new Way(waiting);
    const visits = visitsOf(() => {
      for (let n = 0; n < DELAYS; n += 1) way.run(`new ${n}`);
    });
    expect(visits).toBeLessThan(DELAYS * 20);
  },
);
