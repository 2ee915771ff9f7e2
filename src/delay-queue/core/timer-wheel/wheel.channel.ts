import { NO_INDEX, NO_TIMER, TimingWheel } from './timing-wheel.js';

/**
 * Deadlines have fractions of a millisecond: the database counts whole milliseconds, but from
 * another instant than `performance.now()`. Rounded up to 1 ms, they would be late by 0.5 ms on
 * average.
 */
export const TICKS_PER_MS = 4;

export type OnExpired = (tags: readonly number[]) => void;

/** What a channel asks of the one who drives it. */
interface ChannelDriver {
  wakeBy(deadlineMs: number): void;
  /** Expires due entries of all channels. @returns the time up to which it did */
  turnAll(): number;
  closed(channel: WheelChannel): void;
}

/** A wheel for one owner. Its entries are numbers instead of closures: 24 bytes each. */
export class WheelChannel {
  readonly wheel: TimingWheel;
  #tags = new Float64Array(0);
  closed = false;

  constructor(
    readonly onExpired: OnExpired,
    capacity: number,
    originMs: number,
    private readonly driver: ChannelDriver,
  ) {
    this.wheel = new TimingWheel({ capacity, originMs, ticksPerMs: TICKS_PER_MS });
  }

  /**
   * @param deadlineMs on the scale of {@link WheelService.nowMs}; in the past: the next turn
   * @param tag passed to the callback
   * @returns a handle; `undefined` when the channel is full or closed
   */
  add(deadlineMs: number, tag: number): number | undefined {
    if (this.closed) return undefined;
    const handle = this.wheel.add(deadlineMs);
    if (handle === NO_TIMER) return undefined;
    if (this.#tags.length < this.wheel.allocated) this.#growTags();
    this.#tags[this.wheel.indexOf(handle)] = tag;
    this.driver.wakeBy(deadlineMs);
    return handle;
  }

  /** @returns `false` when the entry expired (perhaps this turn), was dropped or never existed */
  cancel(handle: number): boolean {
    return !this.closed && this.wheel.cancel(handle);
  }

  /** Sets another deadline; the handle stays valid. Returns like {@link cancel}. */
  move(handle: number, deadlineMs: number): boolean {
    if (this.closed || !this.wheel.move(handle, deadlineMs)) return false;
    this.driver.wakeBy(deadlineMs);
    return true;
  }

  /**
   * Makes room in a full channel: drops its farthest entry, as exactly as
   * `TimingWheel.evictFarthest`, if its deadline is later than `afterMs`.
   * @returns its tag; `undefined` when nothing was dropped
   */
  evictFarthest(afterMs: number): number | undefined {
    const index = this.closed ? NO_INDEX : this.wheel.evictFarthest(afterMs);
    return index === NO_INDEX ? undefined : this.#tags[index];
  }

  /**
   * Expires due entries now, of all channels, without waiting for the wheel to wake.
   * @returns whether more is due here than fits into one turn
   */
  turn(): boolean {
    if (this.closed) return false;
    const nowMs = this.driver.turnAll();
    return this.wheel.nextExpiry() <= nowMs;
  }

  /** Drops all entries; the callback is not called again. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.driver.closed(this);
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
