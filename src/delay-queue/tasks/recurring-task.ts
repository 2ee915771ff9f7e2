import { retryPauseMs } from './growing-pause.js';
import { Moment } from './signal.js';
import type { Trouble } from './trouble.js';

/**
 * Whether this node leaves the database alone, since there is nothing to do. Recurring tasks wait meanwhile, and
 * anything that comes up ends it.
 */
export class Idle {
  readonly over = new Moment();
  #isOn = false;
  #disturbedAtMs = performance.now();

  /** @param forMs the longest at a time; null: never */
  constructor(readonly forMs: number | null) {}

  get isOn(): boolean {
    return this.#isOn;
  }

  /** For how long nothing has come up. */
  get calmForMs(): number {
    return performance.now() - this.#disturbedAtMs;
  }

  begin(): void {
    this.#isOn = true;
  }

  end(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.over.happens();
  }

  /** There is something to do, or will be: the database is looked at as usual for a while. */
  disturb(): void {
    this.#disturbedAtMs = performance.now();
    this.end();
  }
}

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

/** Does its work when it is asked for, once for all calls of a turn of the event loop. */
export class Trigger {
  #turn: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(private readonly work: () => void) {}

  trigger(): void {
    if (this.#stopped || this.#pause) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.work();
    });
  }

  /** Triggers itself after that time, in place of what was said before. Infinity: not at all. */
  triggerIn(ms: number): void {
    clearTimeout(this.#later);
    if (this.#stopped || ms === Infinity) return;
    this.#later = setTimeout(() => this.trigger(), ms);
  }

  /** Ignores calls for that time, and triggers itself then. */
  pauseFor(ms: number): void {
    if (this.#stopped) return;
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.trigger();
    }, ms);
  }

  /** Listens again, and triggers itself, if it pauses. */
  resume(): void {
    if (this.#pause === undefined) return;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.trigger();
  }

  stop(): void {
    this.#stopped = true;
    clearImmediate(this.#turn);
    clearTimeout(this.#later);
    clearTimeout(this.#pause);
  }
}

/**
 * Work that others ask for as often as they like, and that is done at once, but then not again before its pause is over.
 * Each login that may connect to the database can ask by a hint, so what it costs must not depend on how often.
 */
export class Paced {
  #timer: NodeJS.Timeout | undefined;
  #lastAtMs = -Infinity;
  #stopped = false;

  constructor(
    private readonly work: () => void,
    private readonly pauseMs: number,
  ) {}

  /** Works now, or, once for all who ask meanwhile, when the pause is over. */
  ask(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    const leftMs = this.#lastAtMs + this.pauseMs - performance.now();
    if (leftMs <= 0) this.#work();
    else this.#timer = setTimeout(() => this.#work(), leftMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #work(): void {
    this.#timer = undefined;
    this.#lastAtMs = performance.now();
    this.work();
  }
}
