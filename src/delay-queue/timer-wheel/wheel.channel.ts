import { performance } from 'node:perf_hooks';
import { inOwnScope } from '../tasks/own-scope.js';
import { NO_INDEX, NO_TIMER, TimingWheel } from './timing-wheel.js';
import type { WheelAlarm } from './wheel-alarm.js';

/**
 * Deadlines have fractions of a millisecond: the database counts whole milliseconds, but from
 * another instant than `performance.now()`. Rounded up to 1 ms, they would be late by 0.5 ms on
 * average.
 */
const TICKS_PER_MS = 4;

/** A wheel for one owner. Its entries are numbers instead of closures: 24 bytes each. */
export interface WheelChannel {
  /**
   * @param deadlineMs on the scale of {@link WheelService.nowMs}; in the past: the next turn
   * @param tag passed to the callback
   * @returns a handle; `undefined` when the channel is full or closed
   */
  add(deadlineMs: number, tag: number): number | undefined;
  /** @returns `false` when the entry expired (perhaps this turn), was dropped or never existed */
  cancel(handle: number): boolean;
  /** Sets another deadline; the handle stays valid. Returns like {@link cancel}. */
  move(handle: number, deadlineMs: number): boolean;
  /**
   * Makes room in a full channel: drops its farthest entry, as exactly as
   * `TimingWheel.evictFarthest`, if its deadline is later than `afterMs`.
   * @returns its tag; `undefined` when nothing was dropped
   */
  evictFarthest(afterMs: number): number | undefined;
  /**
   * Expires due entries now, of all channels, without waiting for the wheel to wake.
   * @returns whether more is due here than fits into one turn
   */
  turn(): boolean;
  /** Drops all entries; the callback is not called again. */
  close(): void;
}

export type OnExpired = (tags: readonly number[]) => void;

/** The service's side of a {@link WheelChannel}. */
export class Channel implements WheelChannel {
  readonly wheel: TimingWheel;
  #tags = new Float64Array(0);
  #closed = false;

  constructor(
    readonly onExpired: OnExpired,
    capacity: number,
    originMs: number,
    private readonly wakeBy: (deadlineMs: number) => void,
    private readonly turnAll: () => number,
    private readonly onClose: (channel: Channel) => void,
  ) {
    this.wheel = new TimingWheel({ capacity, originMs, ticksPerMs: TICKS_PER_MS });
  }

  get closed(): boolean {
    return this.#closed;
  }

  add(deadlineMs: number, tag: number): number | undefined {
    if (this.#closed) return undefined;
    const handle = this.wheel.add(deadlineMs);
    if (handle === NO_TIMER) return undefined;
    if (this.#tags.length < this.wheel.allocated) this.#growTags();
    this.#tags[this.wheel.indexOf(handle)] = tag;
    this.wakeBy(deadlineMs);
    return handle;
  }

  cancel(handle: number): boolean {
    return !this.#closed && this.wheel.cancel(handle);
  }

  move(handle: number, deadlineMs: number): boolean {
    if (this.#closed || !this.wheel.move(handle, deadlineMs)) return false;
    this.wakeBy(deadlineMs);
    return true;
  }

  evictFarthest(afterMs: number): number | undefined {
    const index = this.#closed ? NO_INDEX : this.wheel.evictFarthest(afterMs);
    return index === NO_INDEX ? undefined : this.#tags[index];
  }

  turn(): boolean {
    if (this.#closed) return false;
    const nowMs = this.turnAll();
    return this.wheel.nextExpiry() <= nowMs;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onClose(this);
  }

  /** @param scratch buffer for the indexes; its length bounds the work */
  expire(nowMs: number, scratch: Int32Array): number[] {
    const count = this.wheel.advance(nowMs, scratch);
    const tags: number[] = [];
    for (let at = 0; at < count; at++) tags.push(this.#tags[scratch[at]!]!);
    return tags;
  }

  #growTags(): void {
    const tags = new Float64Array(this.wheel.allocated);
    tags.set(this.#tags);
    this.#tags = tags;
  }
}

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
