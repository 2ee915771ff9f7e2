import { AsyncResource } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationShutdown,
  Optional,
} from '@nestjs/common';
import {
  DelayInvalidError,
  DelayShutdownError,
  DelayWheelFullError,
} from '../delay/delay.errors.js';
import type { Duration } from '../delay/duration.js';
import { describeError } from '../delay/error-text.js';
import { atStart } from '../validation/blame.js';
import { parseDurationMs } from '../validation/duration.js';
import { checkInteger } from '../validation/integer.js';
import { WheelAlarm } from './wheel-alarm.js';
import { Channel, type OnExpired, TICKS_PER_MS, type WheelChannel } from './wheel.channel.js';

/**
 * Provide a number under this token to change how many volatile timers may wait, 1 to 16,777,216.
 * Default 1,000,000. Durable delays and the timeouts of handlers have room of their own.
 */
export const WHEEL_CAPACITY = Symbol.for('nestjs-delay-queue:wheel-capacity');

const CAPACITY_DEFAULT = 1_000_000;
const CAPACITY_MAX = 2 ** 24;

/** Far below 2^31 ms, beyond which `setTimeout` fires at once; an idle process wakes once a minute. */
const SLEEP_MS_MAX = 60_000;

/** A sleep below this is not worth an alarm: a process that busy soon looks again anyway. */
const ALARM_MS_MIN = 2;

/** What one channel may expire before other events get their turn. */
const EXPIRED_PER_TURN = 1_024;

/** A volatile timer, as {@link WheelService.after} names it. */
export interface WheelTimer {
  /** Never used twice in this process. */
  readonly id: number;
}

/**
 * Drives the timing wheels of this process with one `setTimeout`, and none while nothing waits. A
 * {@link WheelAlarm}, if it gets one, wakes it more exactly.
 *
 * It also runs volatile timers, for work that need not survive a restart. They are as cheap to set
 * and cancel at a million as at ten; what must survive belongs into `DelayService`.
 *
 * ```ts
 * const timer = this.wheel.after('30s', () => this.sockets.drop(id));
 * this.wheel.cancel(timer); // true: it will not run
 * ```
 *
 * Time is monotonic (`performance.now()`): setting the wall clock neither fires nor delays a timer.
 * Nothing fires early. Like `setTimeout`, a waiting volatile timer keeps the process alive; entries
 * of channels do not, since the rows that they stand for wait in Postgres.
 */
@Injectable()
export class WheelService implements BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #logger = new Logger('WheelService');
  readonly #channels: Channel[] = [];
  readonly #scratch = new Int32Array(EXPIRED_PER_TURN);
  readonly #volatile: WheelChannel;
  readonly #timers = new Map<number, { handle: number; fn: () => unknown; scope: AsyncResource }>();
  /**
   * Turns run in the async context of the service's birth. Otherwise whoever happened to arm the
   * timer, perhaps inside a transaction, would lend his AsyncLocalStorage to all who come after.
   */
  readonly #onWake = AsyncResource.bind(() => this.#turn());
  #lastId = 0;
  #timeout: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #wakeAtMs = Infinity;
  #closing = false;
  #stopped = false;

  /**
   * @param capacity volatile timers that may wait, up to 16,777,216; no channel shares their room
   * @param alarm of this wheel alone; without one, waking is exact to a millisecond
   * @throws DelayConfigError the capacity is no such number
   * @internal
   */
  constructor(
    @Optional() @Inject(WHEEL_CAPACITY) private readonly capacity: number = CAPACITY_DEFAULT,
    @Optional() private readonly alarm?: WheelAlarm,
  ) {
    atStart('WheelService', () => checkInteger(capacity, 'WHEEL_CAPACITY', 1, CAPACITY_MAX));
    this.alarm?.onRing(() => this.#ring());
    this.#volatile = this.channel((tags) => this.#runTimers(tags), capacity);
  }

  /** The wheel's clock: `performance.now()`, milliseconds with fractions. */
  nowMs(): number {
    return performance.now();
  }

  /**
   * Runs `fn` once, in this process, `ms` from now or a little later. What it throws, or rejects
   * with, is logged. It sees the caller's AsyncLocalStorage, as with `setTimeout`.
   *
   * @throws DelayInvalidError `ms` is no duration, or `fn` no function
   * @throws DelayWheelFullError too many volatile timers wait
   * @throws DelayShutdownError the application is closing; what waited has been cancelled
   */
  after(ms: Duration, fn: () => void | Promise<void>): WheelTimer {
    const delayMs = parseDurationMs(ms, 'after');
    if (typeof fn !== 'function') throw new DelayInvalidError('fn', 'must be a function');
    if (this.#closing) throw new DelayShutdownError();
    const id = ++this.#lastId;
    const handle = this.#volatile.add(this.nowMs() + delayMs, id);
    if (handle === undefined) throw new DelayWheelFullError(this.capacity);
    this.#timers.set(id, { handle, fn, scope: new AsyncResource('WheelTimer') });
    this.#keepAlive();
    return { id };
  }

  /** @returns `true`: it will not run. `false`: it began, was cancelled, or never was. */
  cancel(timer: WheelTimer): boolean {
    const known = this.#timers.get(timer.id);
    if (known === undefined) return false;
    this.#timers.delete(timer.id);
    this.#volatile.cancel(known.handle);
    this.#keepAlive();
    return true;
  }

  /**
   * For owners of many entries, who need no closure for each.
   *
   * @param onExpired gets the tags that expired in one turn, in the order of their deadlines. It
   *   runs after the wheels have moved on: it may add, move, cancel, close and throw (which is
   *   logged).
   * @param capacity entries that may wait in it, whatever waits elsewhere; up to 16,777,216
   * @throws DelayShutdownError the application has shut down
   * @internal
   */
  channel(onExpired: OnExpired, capacity = CAPACITY_DEFAULT): WheelChannel {
    if (this.#stopped) throw new DelayShutdownError();
    const channel = new Channel(
      onExpired,
      capacity,
      this.nowMs(),
      (deadlineMs) => this.#wakeBy(deadlineMs),
      (closed) => {
        this.#channels.splice(this.#channels.indexOf(closed), 1);
        this.#arm();
      },
    );
    this.#channels.push(channel);
    return channel;
  }

  /** Cancels all volatile timers. Channels go on: their owners are draining. */
  beforeApplicationShutdown(): void {
    this.#closing = true;
    this.#timers.clear();
    this.#volatile.close();
  }

  onApplicationShutdown(): void {
    this.beforeApplicationShutdown();
    this.#stopped = true;
    for (const channel of this.#channels.slice()) channel.close();
  }

  /** The timeout stays in charge of what the alarm rings too early for, as well as of all else. */
  #ring(): void {
    if (this.#timeout !== undefined && this.nowMs() >= this.#wakeAtMs) this.#onWake();
  }

  #turn(): void {
    const nowMs = this.nowMs();
    const due: { channel: Channel; tags: number[] }[] = [];
    for (const channel of this.#channels) {
      const tags = channel.expire(nowMs, this.#scratch);
      if (tags.length > 0) due.push({ channel, tags });
    }
    this.#arm();
    for (const { channel, tags } of due) {
      if (!channel.closed) this.#run('a channel of the wheel', () => channel.onExpired(tags));
    }
  }

  #runTimers(tags: readonly number[]): void {
    for (const tag of tags) {
      const timer = this.#timers.get(tag);
      // An earlier one of the same turn may have cancelled it.
      if (timer === undefined) continue;
      this.#timers.delete(tag);
      this.#run('a volatile timer', () => timer.scope.runInAsyncScope(timer.fn));
    }
    this.#keepAlive();
  }

  #run(what: string, fn: () => unknown): void {
    const report = (error: unknown) =>
      this.#logger.error(
        `${what} failed: ${describeError(error)}`,
        error instanceof Error ? error.stack : undefined,
      );
    try {
      const result = fn();
      if (result !== undefined) Promise.resolve(result).catch(report);
    } catch (error) {
      report(error);
    }
  }

  #wakeBy(wakeAtMs: number): void {
    if (wakeAtMs < this.#wakeAtMs) this.#sleepUntil(wakeAtMs);
  }

  #arm(): void {
    let wakeAtMs = Infinity;
    for (const channel of this.#channels) {
      wakeAtMs = Math.min(wakeAtMs, channel.wheel.nextExpiry());
    }
    this.#sleepUntil(wakeAtMs);
  }

  /**
   * One sleep at a time. A timer that fires early, as Node's may by a millisecond, finds nothing due
   * and sleeps again. What is due now, be it the rest of a bounded advance, goes on in the next
   * turn of the event loop. Cancelling the earliest entry leaves the sleep as it is: that wakes
   * once for nothing, where a pair of add and cancel would cost two timers.
   */
  #sleepUntil(wakeAtMs: number): void {
    clearTimeout(this.#timeout);
    clearImmediate(this.#immediate);
    this.#timeout = this.#immediate = undefined;
    this.#wakeAtMs = wakeAtMs;
    if (wakeAtMs === Infinity) return;
    const sleepMs = wakeAtMs - this.nowMs();
    if (sleepMs > 0) {
      this.#timeout = setTimeout(this.#onWake, Math.min(Math.ceil(sleepMs), SLEEP_MS_MAX));
      this.#keepAlive();
      if (sleepMs >= ALARM_MS_MIN) {
        // Before the tick it would find nothing due.
        this.alarm?.ringAt(Math.ceil(wakeAtMs * TICKS_PER_MS) / TICKS_PER_MS);
      }
    } else {
      // Nothing can be earlier than the next turn.
      this.#wakeAtMs = -Infinity;
      this.#immediate = setImmediate(this.#onWake);
    }
  }

  /** Immediates stay as they are: for one that is unref'd the event loop does not hurry. */
  #keepAlive(): void {
    if (this.#timers.size > 0) this.#timeout?.ref();
    else this.#timeout?.unref();
  }
}
