import { AsyncResource } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import type { WheelAlarm } from './wheel-alarm.js';
import { TICKS_PER_MS } from './wheel.channel.js';

/** Far below 2^31 ms, beyond which `setTimeout` fires at once; an idle process wakes once a minute. */
const SLEEP_MS_MAX = 60_000;

/** A sleep below this is not worth an alarm: a process that busy soon looks again anyway. */
const ALARM_MS_MIN = 2;

/** When the wheels are looked at next: one `setTimeout`, or one `setImmediate`, or neither. */
export class WheelSleep {
  /**
   * Turns run in the async context in which the service was made. Otherwise the code that armed the timer,
   * perhaps inside a transaction, would lend its AsyncLocalStorage to all later work.
   */
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
    this.#onWake = AsyncResource.bind(onWake);
    this.alarm?.onRing(() => this.#ring());
  }

  /** At that time at the latest. */
  wakeBy(wakeAtMs: number): void {
    if (wakeAtMs < this.#wakeAtMs) this.sleepUntil(wakeAtMs);
  }

  /**
   * One sleep at a time. A timer that fires early, as Node's may by a millisecond, finds nothing due
   * and sleeps again. What is due now, be it the rest of a bounded advance, goes on in the next
   * turn of the event loop. Cancelling the earliest entry leaves the sleep as it is: that wakes
   * once for nothing, where a pair of add and cancel would cost two timers.
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
        // Rounded up to a tick of the wheel: before that tick nothing is due.
        this.alarm?.ringAt(Math.ceil(wakeAtMs * TICKS_PER_MS) / TICKS_PER_MS);
      }
    } else {
      // Nothing can be earlier than the next turn.
      this.#wakeAtMs = -Infinity;
      this.#immediate = setImmediate(this.#onWake);
    }
  }

  /**
   * Whether the process lives on while it sleeps; at first it does not. Immediates stay as they are:
   * for one that is unref'd the event loop does not hurry.
   */
  keepAlive(keepsAlive: boolean): void {
    this.#keepsAlive = keepsAlive;
    if (keepsAlive) this.#timeout?.ref();
    else this.#timeout?.unref();
  }

  /** The timeout stays: it wakes the wheel also when the alarm rings too early, or never. */
  #ring(): void {
    if (this.#timeout !== undefined && performance.now() >= this.#wakeAtMs) this.#onWake();
  }
}
