import { retryPauseMs } from './growing-pause.js';
import type { Idle } from './idle.js';
import type { Trouble } from './trouble.js';

/**
 * One thing the engine does over and over: never twice at once, again after its pause, sooner when
 * it is asked for, and with growing pauses while it fails, which end as soon as something else works again.
 */
export class RecurringTask {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;
  #failures = 0;
  #wakeOff: (() => void) | undefined;

  /**
   * @param run answers the pause until its next run, in milliseconds
   * @param idle while it is on, a run whose time comes waits for its end
   */
  constructor(
    private readonly run: () => Promise<number>,
    private readonly trouble: Pick<Trouble, 'failed' | 'worked' | 'whenAnotherWorks'>,
    private readonly idle?: Pick<Idle, 'isOn' | 'over'>,
  ) {}

  start(afterMs = 0): void {
    this.#stopped = false;
    this.#sleep(afterMs);
  }

  /** Runs now, or right after the present run. */
  runNow(): void {
    if (this.#stopped) return;
    if (this.#running) this.#again = true;
    else this.#begin();
  }

  /** Begins no further run, and ends with the present one. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#wakeOff?.();
    await this.#running;
  }

  #sleep(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => this.#wake(), ms);
  }

  #wake(): void {
    if (this.idle?.isOn) void this.idle.over.next.then(() => this.runNow());
    else this.#begin();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#wakeOff?.();
    this.#again = false;
    this.#running = this.#once().then((pauseMs) => {
      this.#running = undefined;
      this.#sleep(this.#again ? 0 : pauseMs);
    });
  }

  async #once(): Promise<number> {
    try {
      const pauseMs = await this.run();
      this.#failures = 0;
      this.trouble.worked();
      return pauseMs;
    } catch (error) {
      this.#failures += 1;
      this.trouble.failed(error);
      if (!this.#stopped) this.#wakeOff = this.trouble.whenAnotherWorks(() => this.runNow());
      return retryPauseMs(this.#failures);
    }
  }
}
