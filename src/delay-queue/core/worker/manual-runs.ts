import { inWords, quoted } from '../api/error-text.js';
import { DelayShutdownError, DelayUnstableError } from '../api/errors.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { within } from '../tasks/signal.js';
import type { Completer } from './completer.js';
import type { WorkerContext } from './context.js';
import type { Declarations } from './declarations.js';
import type { TimerQueue } from './timer-queue.js';
import type { Throttles } from './limits.js';
import type { Loader } from './loader.js';
import type { Reruns } from './reruns.js';
import type { TestClock } from './test-clock.js';

const COUNTED_EVERY_MS = 1_000;

/** How long a transaction may hold what is due: less than a test runner waits for a test. */
const LOCKED_MAX_MS = 3_000;

/**
 * What may be claimed is claimed in the next turn of the event loop. The rest waits for something.
 */
const TURN_MS = 20;

interface ManualParts extends Pick<WorkerContext, 'connections' | 'jobs'> {
  loader: Loader;
  throttles: Throttles;
  queue: TimerQueue;
  loop: { readonly isClaiming: boolean; whenAnswered(): Promise<void> };
  completer: Completer;
  declarations: Declarations;
  reruns: Reruns;
}

/** Entrance to a node with a `manual` worker: its timer queue takes only what is handed in here. */
export class ManualRuns {
  #isOver = false;
  /** Why the run in progress ends now. */
  #ended: Error | undefined;

  constructor(
    private readonly parts: ManualParts,
    readonly clock: TestClock,
  ) {}

  get runner(): WorkerContext['connections'] {
    return this.parts.connections;
  }

  /**
   * Runs these. Resolves when each is written, gone, paused or throttled.
   *
   * @returns in how many milliseconds a limit lets the next begin; Infinity: nothing is throttled
   * @throws DelayShutdownError when the application closes
   * @throws DelayUnstableError when a transaction holds one for too long
   */
  async run(wakes: readonly Wake[]): Promise<number> {
    const { loader, queue, throttles } = this.parts;
    // Known pauses and limits belong to another time of the test's clock.
    if (!this.#isOver) await loader.join();
    throttles.clear();
    if (!this.#isGoingToEnd) {
      queue.open();
      for (const wake of wakes) queue.offer(wake, 'confirmed');
      queue.shut();
    }
    let heldMs = Infinity;
    let workedAtMs = performance.now();
    while (!this.#isGoingToEnd && (this.#isBusy || !queue.isEmpty) && heldMs === Infinity) {
      if (this.#isWorking) workedAtMs = performance.now();
      await this.#idle();
      if (!this.#isBusy && !queue.isEmpty) heldMs = throttles.leftMs();
      // A row is held. A test that waits for itself would wait forever. A claim is always answered,
      // and what it says of limits may be the end.
      if (!this.#isBusy && performance.now() - workedAtMs > LOCKED_MAX_MS) break;
    }
    if (this.#isOver) throw new DelayShutdownError();
    const isLeft = !queue.isEmpty;
    if (isLeft) for (const { id } of wakes) queue.disarm(id);
    if (this.#ended !== undefined) throw this.#ended;
    if (isLeft && heldMs === Infinity) throw new DelayUnstableError(LOCKED_MAX_MS);
    await this.placeReruns();
    return heldMs;
  }

  /** Moves what was requested while its key ran into the delay of that key. */
  async placeReruns(): Promise<void> {
    await this.parts.reruns.pass();
  }

  /**
   * Removes all data, and declares again what recurs.
   * @param atMs where the clock stands then; undefined: it is the database's
   */
  async clear(atMs: number | undefined): Promise<void> {
    await this.clock.wipe(atMs);
    await this.parts.declarations.sayAgain();
  }

  /** Attempts that run, in words. */
  get running(): string[] {
    return this.parts.jobs.running().map(({ name, key, calledAtMs }) => {
      const which = key === null ? name : `${name} of ${quoted(key)}`;
      const forMs = performance.now() - calledAtMs;
      return Number.isNaN(forMs)
        ? `${which} has not begun`
        : `the handler of ${which} has been running for ${inWords(forMs)}`;
    });
  }

  /**
   * Gives back what runs, whatever its handlers do, and ends the run in progress with that error,
   * and each later one until `goOn`.
   */
  interrupt(error: Error): void {
    this.#ended = error;
    const { jobs } = this.parts;
    jobs.close();
    for (const attempt of jobs.running()) attempt.holder.release(attempt);
  }

  goOn(): void {
    this.#ended = undefined;
  }

  end(): void {
    this.#isOver = true;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get #isGoingToEnd(): boolean {
    return this.#isOver || this.#ended !== undefined;
  }

  get #isBusy(): boolean {
    return this.parts.loop.isClaiming || this.#isWorking;
  }

  get #isWorking(): boolean {
    return this.parts.jobs.runningCount > 0 || this.parts.completer.size > 0;
  }

  /** In the order in which a delay passes. */
  async #idle(): Promise<void> {
    const { queue, loop, jobs, completer } = this.parts;
    await within(queue.whenEmpty(), TURN_MS);
    await loop.whenAnswered();
    await jobs.whenIdle(COUNTED_EVERY_MS);
    await completer.drain(COUNTED_EVERY_MS);
  }
}
