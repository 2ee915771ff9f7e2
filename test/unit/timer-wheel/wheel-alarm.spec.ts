import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ringWhenDue, WheelAlarm } from '../../../src/delay-queue/core/timer-wheel/wheel-alarm.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';
import { randomOf } from '../../../src/random.js';
import { NodeProcess } from '../../support/node-process.js';
import { ENDED, ThreadWatch } from '../../support/thread-watch.js';
import { WheelUnderTest } from './wheel-under-test.js';

const MINUTE_MS = 60_000;

const watch = new ThreadWatch();
const test = new WheelUnderTest({ withAlarm: true });
const storage = new AsyncLocalStorage<string>();
let alarm: WheelAlarm;
/** When it rang, and in whose context. */
let rings: { atMs: number; context: string | undefined }[];
let tell: () => void;

beforeEach(() => {
  alarm = new WheelAlarm();
  rings = [];
  tell = () => {};
  alarm.onRing(() => {
    rings.push({ atMs: performance.now(), context: storage.getStore() });
    tell();
  });
});

afterEach(async () => {
  await alarm.close();
  jest.restoreAllMocks();
});

const said = (): string[] => test.logger.lines('debug');

const nextRing = () => new Promise<void>((resolve) => (tell = resolve));

describe('an alarm', () => {
  it('rings once for a deadline, never before it, and in nobody’s context', async () => {
    const deadlinesMs: number[] = [];
    for (let each = 0; each < 30; each++) {
      const deadlineMs = performance.now() + each / 10;
      deadlinesMs.push(deadlineMs);
      storage.run('a request', () => alarm.ringAt(deadlineMs));
      await nextRing();
    }
    expect(rings).toHaveLength(deadlinesMs.length);
    expect(rings.filter(({ atMs }, each) => atMs < deadlinesMs[each]!)).toEqual([]);
    expect(rings[0]!.context).toBeUndefined();
  });

  it('does not ring at an earlier deadline that a later one has replaced', async () => {
    const laterMs = performance.now() + 300;
    for (const deadlineMs of [laterMs - 50, laterMs]) alarm.ringAt(deadlineMs);
    await nextRing();
    expect(rings[0]!.atMs).toBeGreaterThanOrEqual(laterMs);
  });

  it('misses no deadline that is set while the thread wakes up and falls asleep again', async () => {
    const turns = 3_000;
    for (let turn = 0; turn < turns; turn++) {
      const nowMs = performance.now();
      alarm.ringAt(nowMs + MINUTE_MS);
      // The thread takes some ten microseconds to look at that one: the next finds it anywhere.
      const meanwhileMs = (turn % 100) / 1_000;
      while (performance.now() < nowMs + meanwhileMs);
      alarm.ringAt(nowMs + meanwhileMs);
      await nextRing();
    }
    expect(rings).toHaveLength(turns);
  });
});

describe('the thread', () => {
  it('ends when the alarm is closed, as it waits', async () => {
    alarm.ringAt(performance.now());
    await nextRing();
    alarm.ringAt(performance.now() + MINUTE_MS);
    const exited = once(watch.thread, 'exit');
    await alarm.close();
    await exited;
    expect(watch.thread.threadId).toBe(ENDED);
    expect(said()).toEqual([]);
  });

  it('that ended is not started again, and the debug log hears of it once', async () => {
    alarm.ringAt(performance.now() + MINUTE_MS);
    await watch.thread.terminate();
    alarm.ringAt(performance.now());
    expect(watch.threads).toHaveLength(1);
    expect(said()).toEqual(['the wheel falls back to setTimeout: its thread ended']);
  });

  it('that fails harms nobody: the wheel wakes by timeouts', async () => {
    // As when a tool has put counters of its own into the function.
    const source = '() => { counters[0]++; }';
    jest.spyOn(ringWhenDue as { toString(): string }, 'toString').mockReturnValueOnce(source);
    // Long enough to be worth an alarm, also when the machine is slow.
    while (said().length === 0) await test.passed(30);
    expect(said()).toEqual([expect.stringContaining('counters is not defined')]);
  });

  it('lets the process end, and does not load what NODE_OPTIONS load into it', async () => {
    const alarmed = NodeProcess.start('test/unit/timer-wheel/fixtures/alarmed-process.ts', {
      env: { NODE_OPTIONS: '--require ./test/unit/timer-wheel/fixtures/loaded-beside.cjs' },
    });
    expect(await alarmed.exited).toEqual({ code: 0, signal: null });
    expect(alarmed.output).toBe('the thread runs\n');
  });
});

/** Sleeps that an alarm is set for end after a minute, if it does not end them. */
function postponeTimeouts() {
  const { setTimeout: original } = globalThis;
  return jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((fn: () => void, ms = 0) => original(fn, ms > 2 ? MINUTE_MS : ms));
}

describe('a wheel with an alarm', () => {
  it('is woken by it', async () => {
    postponeTimeouts();
    const { channel, next } = test.listen();
    for (const inMs of [20, 10.1]) {
      const deadlineMs = test.wheel.nowMs() + inMs;
      channel.add(deadlineMs, inMs);
      expect(await next()).toEqual([inMs]);
      expect(test.wheel.nowMs()).toBeGreaterThanOrEqual(deadlineMs);
    }
  });

  it('fires each of many once, and none early', async () => {
    const random = randomOf(15);
    const deadlinesMs: number[] = [];
    const firedMs: number[][] = [];
    await new Promise<void>((resolve) => {
      let left = 0;
      const channel = test.wheel.channel((tags) => {
        for (const tag of tags) {
          firedMs[tag]!.push(test.wheel.nowMs());
          left -= 1;
          if (tag % 2 === 0) add();
        }
        if (left === 0) resolve();
      });
      const add = (): void => {
        const deadlineMs = test.wheel.nowMs() + random.next() * 200;
        left += firedMs.push([]) - deadlinesMs.length;
        channel.add(deadlineMs, deadlinesMs.push(deadlineMs) - 1);
      };
      for (let each = 0; each < 200; each++) add();
    });
    const isWrong = (atMs: number[], tag: number) =>
      atMs.length !== 1 || atMs[0]! < deadlinesMs[tag]!;
    expect(firedMs.filter(isWrong)).toEqual([]);
    expect(test.complaints).toEqual([]);
  });

  it('sets it to the quarter of a millisecond in which the earliest entry expires', () => {
    const ringAt = jest.spyOn(test.alarm!, 'ringAt');
    const { channel } = test.listen();
    const whole = Math.ceil(test.wheel.nowMs()) + 1_000;
    for (const [tag, ms] of [0.26, 0.3, 0.25, -0.1].entries()) channel.add(whole + ms, tag);
    expect(ringAt.mock.calls.flat()).toEqual([whole + 0.5, whole + 0.25, whole]);
  });

  it('is not disturbed by a ring that comes early, late or for nothing', () => {
    const byHand = new WheelAlarm();
    const onRing = jest.spyOn(byHand, 'onRing');
    jest.spyOn(byHand, 'ringAt').mockReturnValue();
    test.wheel = new WheelService(10, byHand);
    const [[ring]] = onRing.mock.calls as [[() => void]];
    const { channel, heard } = test.listen();
    const sleeps = postponeTimeouts();
    ring();
    const deadlineMs = test.wheel.nowMs() + 1_000;
    channel.add(deadlineMs, 1);
    for (let each = 0; each < 100; each++) ring();
    expect(sleeps).toHaveBeenCalledTimes(1);
    test.busyUntil(deadlineMs + 1);
    expect(heard).toEqual([]);
    ring();
    expect(heard).toEqual([[1]]);
    ring();
    expect(sleeps).toHaveBeenCalledTimes(1);
    channel.add(test.wheel.nowMs() + 1, 2);
    test.wheel.onApplicationShutdown();
    test.busyUntil(test.wheel.nowMs() + 2);
    ring();
    expect(heard).toEqual([[1]]);
  });
});
