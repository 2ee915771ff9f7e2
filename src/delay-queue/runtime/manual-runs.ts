import type { DatabaseClock } from '../database/database-clock.js';
import { DelayShutdownError } from '../delay/delay.errors.js';
import type { Dispatcher } from '../execution/dispatcher.js';
import type { LimitBlocks } from '../execution/places/limit-blocks.js';
import type { Intake } from '../intake/intake.js';
import type { Loader } from '../intake/loader.js';
import type { ResolvedOptions } from '../options/delay-queue.options.js';
import type { Acknowledger } from '../settlement/acknowledger.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { Runner } from '../store/wire/runner.js';
import type { Wake } from '../store/wire/wakes.js';
import { within } from '../tasks/within.js';
import type { Declarations } from './declarations.js';

/** After so long what is left to do is counted again. */
const COUNTED_EVERY_MS = 1_000;

/** Who may be claimed is so in the next turn of the event loop: what waits for longer waits for something. */
const TURN_MS = 20;

export const isManual = ({ worker }: Pick<ResolvedOptions, 'worker'>): boolean =>
  worker === 'manual';

interface Parts {
  loader: Loader;
  blocks: LimitBlocks;
  intake: Intake;
  dispatcher: Dispatcher;
  inFlight: InFlight;
  acknowledger: Acknowledger;
  clock: DatabaseClock;
  declarations: Declarations;
}

/**
 * The door to a node that runs nothing by itself. Its intake is shut but for what is handed in here; from there on a
 * delay goes the way of all delays.
 */
export class ManualRuns {
  #isOver = false;

  /** @param runner of the engine's own connections */
  constructor(
    private readonly parts: Parts,
    readonly runner: Runner,
  ) {}

  /** Milliseconds since 1970 on the database's clock. */
  nowMs(): number {
    return this.parts.clock.nowMs();
  }

  /**
   * Runs these, and resolves when nothing is left to do for them here: each was written down, or is gone, or is paused,
   * or a limit holds it back.
   *
   * @returns in how many milliseconds a limit lets the next begin; Infinity: none holds anything back
   * @throws DelayShutdownError when the application closes
   */
  async run(wakes: readonly Wake[]): Promise<number> {
    const { loader, intake, blocks } = this.parts;
    // What was known of pauses and limits is of another time.
    if (!this.#isOver) await loader.join();
    blocks.clear();
    if (!this.#isOver) {
      intake.open();
      for (const wake of wakes) intake.offer(wake, 'read');
      intake.shut();
    }
    let heldMs = Infinity;
    while (!this.#isOver && (this.#isBusy || !intake.isEmpty) && heldMs === Infinity) {
      await this.#idle();
      if (!this.#isBusy && !intake.isEmpty) heldMs = blocks.leftMs(performance.now());
    }
    if (this.#isOver) throw new DelayShutdownError();
    if (heldMs < Infinity) for (const { id } of wakes) intake.disarm(id);
    return heldMs;
  }

  /**
   * Makes what the code declares to recur stand again.
   * @param travelledMs how far the test's clock is ahead
   */
  async declare(travelledMs: number): Promise<void> {
    await this.parts.declarations.sayAgain(travelledMs);
  }

  /** The application is closing. */
  end(): void {
    this.#isOver = true;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get #isBusy(): boolean {
    const { dispatcher, inFlight, acknowledger } = this.parts;
    return dispatcher.isClaiming || inFlight.size > 0 || acknowledger.size > 0;
  }

  /** In the order in which a delay goes. */
  async #idle(): Promise<void> {
    const { intake, dispatcher, inFlight, acknowledger } = this.parts;
    await within(intake.whenEmpty(), TURN_MS);
    await dispatcher.whenAnswered();
    await inFlight.whenIdle(COUNTED_EVERY_MS);
    await acknowledger.drain(COUNTED_EVERY_MS);
  }
}
