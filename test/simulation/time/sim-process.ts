import type { Random } from '../../../src/random.js';
import type { Appointment, Timeline } from './timeline.js';

/** Beyond this, as with Node's own, a timer fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What `setTimeout` answers in a simulated process. */
export class SimTimeout {
  appointment: Appointment | undefined;
  /** Of an interval: the timer that is set at present. */
  next: SimTimeout | undefined;
  #counts = true;

  ref(): this {
    this.#counts = true;
    return this;
  }

  unref(): this {
    this.#counts = false;
    return this;
  }

  hasRef(): boolean {
    return this.#counts;
  }
}

let current: SimProcess | undefined;

/** Whose code is running: every event belongs to one process, and so do the microtasks behind it. */
export function currentProcess(): SimProcess {
  if (current === undefined) throw new Error('code of the simulation ran outside of every process');
  return current;
}

const enter = (process: SimProcess): void => {
  current = process;
};

/** Between two events nobody's code runs. */
export function leaveProcess(): void {
  current = undefined;
}

/**
 * An operating system's process: a monotonic clock that starts anywhere and runs a little fast or
 * slow, a wall clock that may be hours off, timers, and an inbox. It can stand still, as under
 * SIGSTOP, and die, as under SIGKILL.
 */
export class SimProcess {
  readonly #timers = new Set<SimTimeout>();
  readonly #originMs: number;
  readonly #rate: number;
  #inbox: { fromTimer: boolean; happen: () => void }[] = [];
  #state: 'running' | 'paused' | 'dead' = 'running';
  /** How often it stood still. */
  pauses = 0;
  /** What nobody caught: a real process ends of it. */
  onUncaught: (error: unknown) => void = (error) => {
    throw error;
  };
  /** How far `Date.now()` is from the truth; nothing may depend on it. */
  wallOffsetMs = 0;

  constructor(
    readonly name: string,
    readonly timeline: Timeline,
    private readonly random: Random,
  ) {
    this.#originMs = random.next() * 1e7 - timeline.nowMs;
    // Ordinary quartz: fifty parts in a million either way.
    this.#rate = 1 + (random.next() - 0.5) * 1e-4;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isPaused(): boolean {
    return this.#state === 'paused';
  }

  /** `performance.now()` */
  monotonicMs(): number {
    return this.#originMs + this.timeline.nowMs * this.#rate;
  }

  /** Timers that keep it alive. */
  get timersLeft(): number {
    return [...this.#timers].filter((timer) => timer.hasRef()).length;
  }

  /** Runs code of this process, here and now. */
  run<Result>(code: () => Result): Result {
    enter(this);
    return code();
  }

  setTimeout(fn: (...args: unknown[]) => void, ms = 1, ...args: unknown[]): SimTimeout {
    const wantedMs = ms >= 1 && ms <= TIMER_MS_MAX ? ms : 1;
    // Node's timers count whole milliseconds: they fire up to one early, and late as it happens.
    const jitterMs = this.random.next() * 2 - 0.8;
    return this.#timer(Math.max(0.05, wantedMs + jitterMs), () => fn(...args));
  }

  setInterval(fn: (...args: unknown[]) => void, ms = 1, ...args: unknown[]): SimTimeout {
    const interval = new SimTimeout();
    const next = (): void => {
      const timer = this.setTimeout(() => {
        // Before the call, which may clear it.
        next();
        fn(...args);
      }, ms);
      interval.next = timer;
    };
    next();
    return interval;
  }

  setImmediate(fn: (...args: unknown[]) => void, ...args: unknown[]): SimTimeout {
    return this.#timer(0, () => fn(...args));
  }

  clear(timer: unknown): void {
    if (!(timer instanceof SimTimeout)) return;
    if (timer.appointment) timer.appointment.off = true;
    this.#timers.delete(timer);
    this.clear(timer.next);
  }

  /** Something from outside arrives, `afterMs` from now or when the process runs again. */
  deliver(afterMs: number, happen: () => void): void {
    this.timeline.after(afterMs, () => this.#meet(false, happen));
  }

  pause(forMs: number): void {
    if (this.#state !== 'running') return;
    this.#state = 'paused';
    this.pauses += 1;
    this.timeline.after(forMs, () => this.resume());
  }

  kill(): void {
    this.#state = 'dead';
    for (const timer of this.#timers) if (timer.appointment) timer.appointment.off = true;
    this.#timers.clear();
    this.#inbox = [];
  }

  /** What came meanwhile is all there at once: timers in their order, answers in theirs. */
  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    const timers = this.#inbox.filter(({ fromTimer }) => fromTimer);
    const answers = this.#inbox.filter(({ fromTimer }) => !fromTimer);
    this.#inbox = [];
    while (timers.length + answers.length > 0) {
      const queue = answers.length === 0 || (timers.length > 0 && this.random.chance(0.5));
      const { fromTimer, happen } = (queue ? timers : answers).shift()!;
      this.timeline.after(0, () => this.#meet(fromTimer, happen));
    }
  }

  #timer(ms: number, happen: () => void): SimTimeout {
    const timer = new SimTimeout();
    if (this.isDead) return timer;
    this.#timers.add(timer);
    timer.appointment = this.timeline.after(ms / this.#rate, () =>
      this.#meet(true, () => {
        // Cleared while it stood in the inbox.
        if (this.#timers.delete(timer)) happen();
      }),
    );
    return timer;
  }

  #meet(fromTimer: boolean, happen: () => void): void {
    if (this.#state === 'running') {
      try {
        this.run(happen);
      } catch (error) {
        this.onUncaught(error);
      }
    } else if (this.#state === 'paused') this.#inbox.push({ fromTimer, happen });
  }
}
