import { performance } from 'node:perf_hooks';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationShutdown,
  Optional,
} from '@nestjs/common';
import { adopted, quietly } from '../api/adopted.js';
import { describeError } from '../api/error-text.js';
import { LogLines } from '../api/log-lines.js';
import { DelayInvalidError, DelayShutdownError, DelayWheelFullError } from '../api/errors.js';
import type { Duration } from '../api/delay.js';
import { atStart } from '../config/refusals.js';
import { integer } from '../config/checks.js';
import { parseDurationMs } from '../config/durations.js';
import { WheelAlarm } from './wheel-alarm.js';
import { type OnExpired, WheelChannel } from './wheel.channel.js';
import { WheelSleep } from './wheel-sleep.js';
import { VolatileTimers, WheelTimer } from './volatile-timers.js';

/**
 * Provide a number under this token to set how many volatile timers may wait, 1 to 16,777,216.
 * Default 1,000,000. Durable delays and handler timeouts have separate capacity.
 */
export const WHEEL_CAPACITY = Symbol.for('nestjs-delay-queue:wheel-capacity');

const CAPACITY_DEFAULT = 1_000_000;
const CAPACITY_MAX = 2 ** 24;

/** Most entries of one channel that expire before other events get their turn. */
const EXPIRED_PER_TURN = 1_024;

/**
 * Drives the timing wheels of this process with one `setTimeout`, or none while nothing waits. A
 * {@link WheelAlarm}, if provided, wakes it more exactly.
 *
 * It also runs volatile timers, for work that need not survive a restart. A million of them are as
 * cheap to set and cancel as ten. Work that must survive belongs in `DelayService`.
 *
 * ```ts
 * const timer = this.wheel.after('30s', () => this.sockets.drop(id));
 * this.wheel.cancel(timer); // true: it will not run
 * ```
 *
 * Time is monotonic (`performance.now()`): setting the wall clock neither fires nor delays a timer.
 * Nothing fires early. Like `setTimeout`, a waiting volatile timer keeps the process alive. Channel
 * entries do not, since their rows wait in Postgres.
 */
@Injectable()
export class WheelService implements BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #logger = new LogLines('WheelService');
  readonly #channels: WheelChannel[] = [];
  readonly #scratch = new Int32Array(EXPIRED_PER_TURN);
  readonly #sleep: WheelSleep;
  readonly #timers: VolatileTimers;
  readonly #driver = {
    wakeBy: (deadlineMs: number) => this.#sleep.wakeBy(deadlineMs),
    turnAll: () => this.#turn(),
    closed: (channel: WheelChannel) => {
      this.#channels.splice(this.#channels.indexOf(channel), 1);
      this.#arm();
    },
  };
  #closing = false;
  #stopped = false;

  /**
   * @param capacity most volatile timers that may wait, up to 16,777,216; channels are separate
   * @param alarm of this wheel alone; without it, waking is exact to a millisecond
   * @throws DelayConfigError for a capacity out of range
   * @internal
   */
  constructor(
    @Optional() @Inject(WHEEL_CAPACITY) private readonly capacity: number = CAPACITY_DEFAULT,
    @Optional() alarm?: WheelAlarm,
  ) {
    atStart('WheelService', () => integer(1, CAPACITY_MAX)(capacity, 'WHEEL_CAPACITY'));
    this.#sleep = new WheelSleep(() => this.#turn(), alarm);
    this.#timers = new VolatileTimers(
      (onExpired) => this.channel(onExpired, capacity),
      (fn) => this.#run('a volatile timer', fn),
      (anyWaits) => this.#sleep.keepAlive(anyWaits),
    );
  }

  /** The wheel's clock: `performance.now()`, milliseconds with fractions. */
  nowMs(): number {
    return performance.now();
  }

  /**
   * Runs `fn` once, in this process, `ms` from now or a little later. If `fn` throws or rejects,
   * the error is logged. `fn` sees the caller's AsyncLocalStorage, as with `setTimeout`.
   *
   * @throws DelayInvalidError if `ms` is not a duration, or `fn` not a function
   * @throws DelayWheelFullError when too many volatile timers wait
   * @throws DelayShutdownError when the application is closing; waiting timers are cancelled then
   */
  after(ms: Duration, fn: () => void | Promise<void>): WheelTimer {
    const delayMs = parseDurationMs(ms, 'after');
    if (typeof fn !== 'function') throw new DelayInvalidError('fn', 'must be a function');
    if (this.#closing) throw new DelayShutdownError();
    const timer = this.#timers.add(this.nowMs() + delayMs, fn);
    if (timer === undefined) throw new DelayWheelFullError(this.capacity);
    return timer;
  }

  /** @returns `true`: it will not run. `false`: it began, was cancelled, or never existed. */
  cancel(timer: WheelTimer): boolean {
    return this.#timers.cancel(timer);
  }

  /**
   * For owners of many entries, without a closure for each.
   *
   * @param onExpired receives the tags that expired in one turn, in the order of their deadlines.
   *   It runs after the wheels have advanced: it may add, move, cancel, close and throw (which is
   *   logged).
   * @param capacity most entries that may wait in the channel, whatever waits elsewhere; up to
   *   16,777,216
   * @throws DelayShutdownError when the application has shut down
   * @internal
   */
  channel(onExpired: OnExpired, capacity = CAPACITY_DEFAULT): WheelChannel {
    if (this.#stopped) throw new DelayShutdownError();
    const channel = new WheelChannel(onExpired, capacity, this.nowMs(), this.#driver);
    this.#channels.push(channel);
    return channel;
  }

  /** Cancels all volatile timers. Channels go on: their owners are draining. */
  beforeApplicationShutdown(): void {
    this.#closing = true;
    this.#timers.close();
  }

  onApplicationShutdown(): void {
    this.beforeApplicationShutdown();
    this.#stopped = true;
    for (const channel of this.#channels.slice()) channel.close();
  }

  /** @returns the time up to which entries expired */
  #turn(): number {
    const nowMs = this.nowMs();
    const due: { channel: WheelChannel; tags: number[] }[] = [];
    for (const channel of this.#channels) {
      const tags = channel.expire(nowMs, this.#scratch);
      if (tags.length > 0) due.push({ channel, tags });
    }
    this.#arm();
    for (const { channel, tags } of due) {
      if (!channel.closed) this.#run('a channel of the wheel', () => channel.onExpired(tags));
    }
    return nowMs;
  }

  #run(what: string, fn: () => unknown): void {
    const report = (error: unknown) =>
      quietly(() => this.#logger.error(`${what} failed: ${describeError(error)}`, error));
    try {
      const result = adopted(fn());
      if (result instanceof Promise) void result.catch(report);
    } catch (error) {
      report(error);
    }
  }

  #arm(): void {
    let wakeAtMs = Infinity;
    for (const channel of this.#channels) {
      wakeAtMs = Math.min(wakeAtMs, channel.wheel.nextExpiry());
    }
    this.#sleep.sleepUntil(wakeAtMs);
  }
}
