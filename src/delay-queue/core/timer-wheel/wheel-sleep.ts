import { performance } from 'node:perf_hooks';
import { inOwnScope } from '../tasks/own-scope.js';
import type { WheelAlarm } from './wheel-alarm.js';
import { TICKS_PER_MS } from './wheel.channel.js';

/** Below 2^31 ms, where `setTimeout` fires at once; an idle process wakes once a minute. */
const SLEEP_MS_MAX = 60_000;

/** Below this, a sleep is not worth an alarm: such a busy process wakes soon anyway. */
const ALARM_MS_MIN = 2;

/** When the wheels are polled next: one `setTimeout`, or one `setImmediate`, or neither. */
export class WheelSleep {
  /** Turns must not run in the AsyncLocalStorage of the code that set the timer. */
  readonly #onWake: () => void;
  #timeout: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #wakeAtMs = Infinity;
  #keepsAlive = false;

  /** @param alarm wakes more exactly than the timeout, if it rings at all */
  constructor(
    onWake: () => void,
    private readonly alarm?: WheelAlarm,
  ) {
    this.#onWake = () => inOwnScope(onWake);
    this.alarm?.onRing(() => this.#ring());
  }

  /** Wakes at that time at the latest. */
  wakeBy(wakeAtMs: number): void {
    if (wakeAtMs < this.#wakeAtMs) this.sleepUntil(wakeAtMs);
  }

  /**
   * Replaces the present sleep. If a timer fires early, as Node's may by a millisecond, nothing is
   * due and the wheel sleeps again. What is due already, such as the rest of a bounded advance,
   * runs in the next turn of the event loop. Cancelling the earliest entry does not change the
   * sleep: one needless wake-up is cheaper than two timers per pair of add and cancel.
   *
   * @param wakeAtMs `Infinity`: nothing waits
   */
  sleepUntil(wakeAtMs: number): void {
    clearTimeout(this.#timeout);
    clearImmediate(this.#immediate);
    this.#timeout = this.#immediate = undefined;
    this.#wakeAtMs = wakeAtMs;
    if (wakeAtMs === Infinity) return;
    const sleepMs = wakeAtMs - performance.now();
    if (sleepMs > 0) {
      this.#timeout = setTimeout(this.#onWake, Math.min(Math.ceil(sleepMs), SLEEP_MS_MAX));
      this.keepAlive(this.#keepsAlive);
      if (sleepMs >= ALARM_MS_MIN) {
        // Rounded up to a tick of the wheel: nothing is due before that tick.
        this.alarm?.ringAt(Math.ceil(wakeAtMs * TICKS_PER_MS) / TICKS_PER_MS);
      }
    } else {
      // Nothing can be earlier than the next turn.
      this.#wakeAtMs = -Infinity;
      this.#immediate = setImmediate(this.#onWake);
    }
  }

  /**
   * Whether a sleep keeps the process alive; at first, none does. Immediates are unchanged: the
   * event loop does not hurry for one that is unref'd.
   */
  keepAlive(keepsAlive: boolean): void {
    this.#keepsAlive = keepsAlive;
    if (keepsAlive) this.#timeout?.ref();
    else this.#timeout?.unref();
  }

  /** Keeps the timeout, which wakes the wheel also when the alarm rings too early or never. */
  #ring(): void {
    if (this.#timeout !== undefined && performance.now() >= this.#wakeAtMs) this.#onWake();
  }
}
