import { AsyncResource } from 'node:async_hooks';
import type { WheelChannel, OnExpired } from './wheel.channel.js';

/** A volatile timer, as returned by {@link WheelService.after}. */
export interface WheelTimer {
  /** Unique in this process. */
  readonly id: number;
}

/** Functions in a separate channel. Each runs in the async context of the code that set it. */
export class VolatileTimers {
  readonly #timers = new Map<number, { handle: number; fn: () => unknown; scope: AsyncResource }>();
  readonly #channel: WheelChannel;
  #lastId = 0;

  /**
   * @param channelFor makes the channel
   * @param run calls a function and catches its errors
   * @param onWaiting notified after each change whether any timer waits
   */
  constructor(
    channelFor: (onExpired: OnExpired) => WheelChannel,
    private readonly run: (fn: () => unknown) => void,
    private readonly onWaiting: (anyWaits: boolean) => void,
  ) {
    this.#channel = channelFor((ids) => this.#expired(ids));
  }

  /** @returns `undefined` when the channel is full */
  add(deadlineMs: number, fn: () => unknown): WheelTimer | undefined {
    const id = ++this.#lastId;
    const handle = this.#channel.add(deadlineMs, id);
    if (handle === undefined) return undefined;
    this.#timers.set(id, { handle, fn, scope: new AsyncResource('WheelTimer') });
    this.#changed();
    return { id };
  }

  /** @returns `true`: it will not run. `false`: it began, was cancelled, or never existed. */
  cancel(timer: WheelTimer): boolean {
    const known = this.#timers.get(timer.id);
    if (known === undefined) return false;
    this.#timers.delete(timer.id);
    this.#channel.cancel(known.handle);
    this.#changed();
    return true;
  }

  /** Cancels all, for good. */
  close(): void {
    this.#timers.clear();
    this.#changed();
    this.#channel.close();
  }

  #expired(ids: readonly number[]): void {
    for (const id of ids) {
      const timer = this.#timers.get(id);
      // An earlier function of the same turn may have cancelled it.
      if (timer === undefined) continue;
      this.#timers.delete(id);
      this.run(() => timer.scope.runInAsyncScope(timer.fn));
    }
    this.#changed();
  }

  #changed(): void {
    this.onWaiting(this.#timers.size > 0);
  }
}
