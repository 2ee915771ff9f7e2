import { setTimeout as pauseFor } from 'node:timers/promises';
import type { DelayEvents } from '../api/events.js';
import { CHECKED, invariant } from './invariant.js';
import { inOwnScope } from './own-scope.js';
import { Condition } from './signal.js';

/** Background tasks that are retried after a failure, as events and the log name them. */
export type Task =
  | 'abort'
  | 'begin'
  | 'claim'
  | 'complete'
  | 'deadLetter'
  | 'declare'
  | 'hint'
  | 'leave'
  | 'listen'
  | 'load'
  | 'lookup'
  | 'prune'
  | 'renew'
  | 'rerun'
  | 'scan';

/** Wake-ups of tasks that pause after a failure, by the events that they report to. */
const pausing = new WeakMap<DelayEvents, Set<() => void>>();

/**
 * Reports failures of one task: `taskFailed` at each failure, `taskRecovered` once when it works again.
 * Each task's pauses grow separately. The first task that works again ends the pauses of all
 * others, since the same cause held them back.
 */
export class TaskHealth {
  #failing = false;
  readonly #pausing: Set<() => void>;

  constructor(
    private readonly events: DelayEvents,
    private readonly task: Task,
  ) {
    this.#pausing = pausing.get(events) ?? new Set();
    pausing.set(events, this.#pausing);
  }

  failed(error: unknown): void {
    this.#failing = true;
    this.events.emit('taskFailed', { task: this.task, error });
  }

  worked(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.events.emit('taskRecovered', { task: this.task });
    // A copy: a task that fails again at once pauses again, outside of this round.
    const woken = [...this.#pausing];
    this.#pausing.clear();
    for (const wake of woken) wake();
  }

  /** Calls `wake` once, when another task works again. @returns a function that cancels that */
  whenAnotherWorks(wake: () => void): () => void {
    this.#pausing.add(wake);
    return () => void this.#pausing.delete(wake);
  }

  /** Pauses for `ms`, or until another task works again. Does not keep the process alive. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        off();
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      const off = this.whenAnotherWorks(end);
    });
  }
}

export interface Growth {
  firstMs: number;
  factor: number;
  lastMs: number;
  /** The random share of each pause, 0 to 1. It only shortens a pause. */
  jitter: number;
}

/**
 * `firstMs * factor^(times - 1)`, at most `lastMs`, shortened by a random share.
 *
 * @param times counted from 1
 * @param random returns 0 (inclusive) to 1 (exclusive), like `Math.random`
 */
export function pauseMs(
  { firstMs, factor, lastMs, jitter }: Growth,
  times: number,
  random: () => number = Math.random,
): number {
  // 0 times an overflowing power would be NaN.
  if (firstMs === 0) return 0;
  const fullMs = Math.min(lastMs, firstMs * factor ** (times - 1));
  return fullMs * (1 - jitter * random());
}

/** After a failure of the engine's own work: doubles from the first to the last. */
const RETRY: Growth = { firstMs: 100, factor: 2, lastMs: 5_000, jitter: 0.5 };

/** How long the engine waits after that many failures in a row, in milliseconds. */
export function retryPauseMs(failures: number): number {
  return pauseMs(RETRY, failures);
}

/** Pauses before a row that is locked for a short time is tried again. */
const LOCKED: Growth = { firstMs: 5, factor: 2, lastMs: 1_000, jitter: 0 };

/** How long to wait for a row that was found locked that many times, in milliseconds. */
export function lockedPauseMs(times: number): number {
  return pauseMs(LOCKED, times);
}

/** Waits without keeping the process alive. */
export function rest(ms: number): Promise<void> {
  return pauseFor(ms, undefined, { ref: false });
}

/** Whether this node, with nothing to do, leaves the database alone. Recurring tasks wait then. */
export class Idle {
  readonly over = new Condition();
  #isOn = false;
  #disturbedAtMs = performance.now();

  /** @param forMs the longest idle time at once; null: never idle */
  constructor(readonly forMs: number | null) {}

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Time since the last new work. */
  get calmForMs(): number {
    return performance.now() - this.#disturbedAtMs;
  }

  begin(): void {
    this.#isOn = true;
  }

  end(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
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
  #workedAtMs = Number.NaN;
  #endedAtMs = Number.NaN;

  /**
   * @param run returns the pause until the next run, in milliseconds
   * @param idle while idle, a run that is due waits for the end
   */
  constructor(
    private readonly run: () => Promise<number>,
    private readonly health: Pick<TaskHealth, 'failed' | 'worked' | 'whenAnotherWorks'>,
    private readonly idle?: Pick<Idle, 'isOn' | 'over'>,
  ) {}

  start(afterMs = 0): void {
    this.#stopped = false;
    this.#sleep(afterMs);
  }

  /** `performance.now()` when a run last worked, and when one last ended; NaN: none has. */
  get last(): { workedAtMs: number; endedAtMs: number } {
    return { workedAtMs: this.#workedAtMs, endedAtMs: this.#endedAtMs };
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
    if (this.idle?.isOn) void this.idle.over.next.then(() => this.runNow());
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
      this.#workedAtMs = this.#endedAtMs = performance.now();
      this.health.worked();
      return nextInMs;
    } catch (error) {
      this.#failures += 1;
      this.#endedAtMs = performance.now();
      this.health.failed(error);
      if (!this.#stopped) this.#wakeOff = this.health.whenAnotherWorks(() => this.runNow());
      return retryPauseMs(this.#failures);
    }
  }
}

/** Does its work on request, once for all requests of a turn of the event loop. */
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
      inOwnScope(this.work);
    });
  }

  /** Triggers after that time; replaces an earlier call. Infinity: not at all. */
  triggerIn(ms: number): void {
    clearTimeout(this.#later);
    if (this.#stopped || ms === Infinity) return;
    this.#later = setTimeout(() => this.trigger(), ms);
  }

  /** Ignores triggers for that time, then triggers. */
  pauseFor(ms: number): void {
    if (this.#stopped) return;
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.trigger();
    }, ms);
  }

  /** Ends a pause, and triggers if there was one. */
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
 * Work on request: done at once, but not again before its pause is over. Any login that can connect
 * to the database can request it by a hint, so its cost must not depend on how often.
 */
export class Paced {
  #timer: NodeJS.Timeout | undefined;
  #lastAtMs = -Infinity;
  #stopped = false;

  constructor(
    private readonly work: () => void,
    private readonly minEveryMs: number,
  ) {}

  /** Works now, or, once for all requests meanwhile, when the pause is over. */
  ask(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    const leftMs = this.#lastAtMs + this.minEveryMs - performance.now();
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
