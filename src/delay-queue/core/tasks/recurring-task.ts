import { CHECKED, invariant } from './invariant.js';
import { inOwnScope } from './own-scope.js';
import { Condition } from './signal.js';
import { TaskHealth } from './task-health.js';
import { retryPauseMs } from './pauses.js';

/** Whether this node, with nothing to do, leaves the database alone. Recurring tasks wait then. */
export class Idle {
  readonly over = new Condition();
  isOn = false;
  #disturbedAtMs = performance.now();

  /** @param forMs the longest idle time at once; null: never idle */
  constructor(readonly forMs: number | null) {}

  /** Time since the last new work. */
  get calmForMs(): number {
    return performance.now() - this.#disturbedAtMs;
  }

  end(): void {
    if (!this.isOn) return;
    this.isOn = false;
    this.over.notify();
  }

  /** New work is there or expected: the database is polled as usual for a while. */
  disturb(): void {
    this.#disturbedAtMs = performance.now();
    this.end();
  }
}

/**
 * Work that the engine repeats: never twice at once, again after its pause, sooner on request.
 * While it fails, its pauses grow; they end when another task works again.
 */
export class RecurringTask {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;
  #failures = 0;
  #wakeOff: (() => void) | undefined;
  /** `performance.now()` when a run last worked, and when one last ended; NaN: none has. */
  readonly last = { workedAtMs: Number.NaN, endedAtMs: Number.NaN };
  readonly #idle: Pick<Idle, 'isOn' | 'over'> | undefined;

  /**
   * @param run returns the pause until the next run, in milliseconds
   * @param idle while idle, a run that is due waits for the end
   */
  constructor(
    private readonly run: () => Promise<number>,
    protected readonly health: Pick<TaskHealth, 'failed' | 'worked' | 'whenAnotherWorks'>,
    idle?: Pick<Idle, 'isOn' | 'over'>,
  ) {
    this.#idle = idle;
  }

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

  /** Starts no further run; resolves when the present one has ended. */
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
    if (this.#idle?.isOn) void this.#idle.over.next.then(() => this.runNow());
    else this.#begin();
  }

  #begin(): void {
    if (CHECKED) invariant(this.#running === undefined, 'a task runs once at a time');
    clearTimeout(this.#timer);
    this.#wakeOff?.();
    this.#again = false;
    this.#running = inOwnScope(() => this.#round());
  }

  async #round(): Promise<void> {
    const nextInMs = await this.#once();
    this.#running = undefined;
    this.#sleep(this.#again ? 0 : nextInMs);
  }

  async #once(): Promise<number> {
    try {
      const nextInMs = await this.run();
      this.#failures = 0;
      this.last.workedAtMs = this.last.endedAtMs = performance.now();
      this.health.worked();
      return nextInMs;
    } catch (error) {
      this.#failures += 1;
      this.last.endedAtMs = performance.now();
      this.health.failed(error);
      if (!this.#stopped) this.#wakeOff = this.health.whenAnotherWorks(() => this.runNow());
      return retryPauseMs(this.#failures);
    }
  }
}
