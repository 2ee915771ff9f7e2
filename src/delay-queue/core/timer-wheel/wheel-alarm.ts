import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { quietly } from '../api/adopted.js';
import { describeError } from '../api/error-text.js';
import { LogLines } from '../api/log-lines.js';
import { inOwnScope } from '../tasks/own-scope.js';

/** What the thread receives; the arrays are in shared memory. */
interface AlarmSetting {
  /** How often the alarm was set. */
  timesSet: Int32Array;
  /** On the scale of the main thread's `performance.now()`. */
  deadlineMs: Float64Array;
  /** `process.hrtime()` when that clock was 0. */
  originMs: number;
}

/** The thread makes little garbage; by default, V8 would let more of it accumulate. */
const YOUNG_GENERATION_MB = 1;

/**
 * Wakes more exactly than `setTimeout`, which counts whole milliseconds: a thread sleeps in
 * `Atomics.wait` and sends a message. It serves one wheel, which must not rely on it: a thread that
 * dies or cannot start sends nothing, and only the debug log reports it.
 *
 * The thread starts when the alarm is first set, and never keeps the process alive.
 */
@Injectable()
export class WheelAlarm implements OnApplicationShutdown {
  readonly #logger = new LogLines('WheelAlarm');
  readonly #timesSet = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #deadlineMs = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  #onRing: () => void = () => {};
  #thread: Worker | undefined;
  #isOff = false;

  /** Called at each deadline or a little later, unless the deadline was replaced before. */
  onRing(listener: () => void): void {
    this.#onRing = listener;
  }

  /**
   * Replaces the deadline. A ring for the old one may still be on its way.
   *
   * The count is raised after the deadline is written, and the thread reads the count first. So if
   * it reads the old deadline, or half of it, its count is old too, and it does not fall asleep.
   * @param deadlineMs on the scale of `performance.now()`
   */
  ringAt(deadlineMs: number): void {
    if (this.#isOff) return;
    this.#thread ??= inOwnScope(() => this.#start());
    this.#deadlineMs[0] = deadlineMs;
    Atomics.add(this.#timesSet, 0, 1);
    Atomics.notify(this.#timesSet, 0);
  }

  /** Ends the thread for good. */
  async close(): Promise<void> {
    this.#isOff = true;
    await this.#thread?.terminate();
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  #start(): Worker | undefined {
    const setting: AlarmSetting = {
      timesSet: this.#timesSet,
      deadlineMs: this.#deadlineMs,
      originMs: Math.min(readOriginMs(), readOriginMs(), readOriginMs()),
    };
    try {
      const thread = new Worker(`(${ringWhenDue.toString()})()`, {
        eval: true,
        name: 'wheel-alarm',
        workerData: setting,
        // The thread must not load modules of --import, --require and NODE_OPTIONS.
        execArgv: [],
        env: {},
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
      });
      thread.on('message', () => this.#onRing());
      thread.on('error', (error) => this.#giveUp(describeError(error)));
      thread.on('exit', () => this.#giveUp('its thread ended'));
      thread.unref();
      return thread;
    } catch (error) {
      this.#giveUp(describeError(error));
      return undefined;
    }
  }

  #giveUp(why: string): void {
    if (this.#isOff) return;
    this.#isOff = true;
    quietly(() => this.#logger.debug(`the wheel falls back to setTimeout: ${why}`));
  }
}

/**
 * `process.hrtime()` is the clock that all threads share. (`performance.timeOrigin` comes from the
 * wall clock, which may be set between the starts of two threads.) A pause between the two readings
 * makes the origin later, never earlier: the least of several is the best, and no ring is early.
 */
function readOriginMs(): number {
  const nowMs = performance.now();
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6 - nowMs;
}

/**
 * The whole program of the thread. It is passed as text, because a file would have another name in
 * `dist` than under swc and in Jest. So it can use globals, and nothing else of this module.
 */
export function ringWhenDue(): never {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { timesSet, deadlineMs, originMs }: AlarmSetting = workerData;
  let rung = 0;
  for (;;) {
    const set = Atomics.load(timesSet, 0);
    const [seconds, nanoseconds] = process.hrtime();
    const nowMs = seconds * 1e3 + nanoseconds / 1e6 - originMs;
    const restMs = set === rung ? Infinity : deadlineMs[0]! - nowMs;
    if (restMs > 0) {
      Atomics.wait(timesSet, 0, set, restMs);
    } else {
      rung = set;
      parentPort!.postMessage(null, []);
    }
  }
}
