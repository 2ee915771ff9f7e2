import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { randomOf } from '../../../src/random.js';
import { WheelAlarm } from '../../../src/delay-queue/wheel/wheel-alarm.js';
import { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';
import { NodeProcess } from '../../support/node-process.js';
import { ENDED, ThreadWatch } from '../../support/thread-watch.js';
import { WheelUnderTest } from './wheel-under-test.js';

const MINUTE_MS = 60_000;

const watch = new ThreadWatch();
const test = new WheelUnderTest({ withAlarm: true });
let alarm: WheelAlarm;
let rangAtMs: number[];
let said: string[];
let tell: () => void;

beforeEach(() => {
  alarm = new WheelAlarm();
  rangAtMs = [];
  said = [];
  tell = () => {};
  alarm.onRing(() => {
    rangAtMs.push(performance.now());
    tell();
  });
  jest
    .spyOn(Logger.prototype, 'debug')
    .mockImplementation((message) => void said.push(String(message)));
});

afterEach(async () => {
  await alarm.close();
  jest.restoreAllMocks();
});

const nextRing = () => new Promise<void>((resolve) => (tell = resolve));

describe('an alarm', () => {
  it('rings once for a deadline, and never before it', async () => {
    const deadlinesMs: number[] = [];
    for (let each = 0; each < 50; each++) {
      const deadlineMs = performance.now() + each / 10;
      deadlinesMs.push(deadlineMs);
      alarm.ringAt(deadlineMs);
      await nextRing();
    }
    expect(rangAtMs).toHaveLength(deadlinesMs.length);
    expect(rangAtMs.filter((atMs, each) => atMs < deadlinesMs[each]!)).toEqual([]);
  });

  it('does not ring at an earlier deadline that a later one has replaced', async () => {
    const replacedMs = performance.now() + 200;
    alarm.ringAt(replacedMs);
    alarm.ringAt(replacedMs + 50);
    await nextRing();
    expect(rangAtMs[0]).toBeGreaterThanOrEqual(replacedMs + 50);
  });

  it('misses no deadline that is set while the thread wakes up and falls asleep again', async () => {
    const turns = 10_000;
    for (let turn = 0; turn < turns; turn++) {
      const nowMs = performance.now();
      alarm.ringAt(nowMs + MINUTE_MS);
      // The thread takes some ten microseconds to look at that one: the next finds it anywhere.
      const meanwhileMs = (turn % 100) / 1_000;
      while (performance.now() < nowMs + meanwhileMs);
      alarm.ringAt(nowMs + meanwhileMs);
      await nextRing();
    }
    expect(rangAtMs).toHaveLength(turns);
  });

  it('shows the listener nothing of whoever set it', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    alarm.onRing(() => {
      seen.push(storage.getStore());
      tell();
    });
    storage.run('a request', () => alarm.ringAt(performance.now()));
    await nextRing();
    expect(seen).toEqual([undefined]);
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
    expect(said).toEqual([]);
  });

  it('that ended is not started again, and the debug log hears of it once', async () => {
    alarm.ringAt(performance.now() + MINUTE_MS);
    await watch.thread.terminate();
    alarm.ringAt(performance.now());
    expect(watch.threads).toHaveLength(1);
    expect(said).toEqual(['the wheel wakes by setTimeout alone: its thread ended']);
  });

  it('that fails harms nobody: the wheel wakes by timeouts', async () => {
    // As when a tool has put counters of its own into the function.
    const source = '() => { counters[0]++; }';
    jest.spyOn(Function.prototype, 'toString').mockReturnValueOnce(source);
    const deadlineMs = test.wheel.nowMs() + 30;
    await test.passed(30);
    expect(test.wheel.nowMs()).toBeGreaterThanOrEqual(deadlineMs);
    while (said.length === 0) await test.passed(1);
    expect(said).toEqual([expect.stringContaining('counters is not defined')]);
  });

  it('lets the process end, and does not load what NODE_OPTIONS load into it', async () => {
    const alarmed = NodeProcess.start('test/unit/wheel/fixtures/alarmed-process.ts', {
      env: { NODE_OPTIONS: '--require ./test/unit/wheel/fixtures/loaded-beside.cjs' },
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
    for (const inMs of [40, 20, 10.1, 30]) {
      const deadlineMs = test.wheel.nowMs() + inMs;
      channel.add(deadlineMs, inMs);
      expect(await next()).toEqual([inMs]);
      expect(test.wheel.nowMs()).toBeGreaterThanOrEqual(deadlineMs);
    }
  });

  it('fires each of many once, and none early', async () => {
    const random = randomOf(15);
    const deadlinesMs: number[] = [];
    const fired = new Map<number, number>();
    await new Promise<void>((resolve) => {
      const channel = test.wheel.channel((tags) => {
        for (const tag of tags) {
          if (fired.has(tag)) throw new Error(`${tag} fired twice`);
          fired.set(tag, test.wheel.nowMs());
          if (tag % 2 === 0) add();
        }
        if (fired.size === deadlinesMs.length) resolve();
      });
      const add = (): void => {
        const deadlineMs = test.wheel.nowMs() + random.next() * 500;
        channel.add(deadlineMs, deadlinesMs.push(deadlineMs) - 1);
      };
      for (let each = 0; each < 200; each++) add();
    });
    expect(fired.size).toBe(deadlinesMs.length);
    expect([...fired].filter(([tag, atMs]) => atMs < deadlinesMs[tag]!)).toEqual([]);
    expect(test.complaints).toEqual([]);
  });

  it('sets it to the quarter of a millisecond in which the earliest entry expires', () => {
    const ringAt = jest.spyOn(test.alarm!, 'ringAt');
    const { channel } = test.listen();
    const whole = Math.ceil(test.wheel.nowMs()) + 1_000;
    channel.add(whole + 0.26, 1);
    channel.add(whole + 0.3, 2);
    channel.add(whole + 0.25, 3);
    channel.add(whole - 0.1, 4);
    expect(ringAt.mock.calls.flat()).toEqual([whole + 0.5, whole + 0.25, whole]);
  });
});

describe('a ring', () => {
  class RungByHand extends WheelAlarm {
    ring = (): void => {};

    override onRing(listener: () => void): void {
      this.ring = listener;
    }

    override ringAt(): void {}
  }

  function wheelRungByHand() {
    const byHand = new RungByHand();
    const wheel = new WheelService(10, byHand);
    const heard: (readonly number[])[] = [];
    const channel = wheel.channel((tags) => void heard.push(tags));
    return { byHand, wheel, channel, heard };
  }

  it('that comes early, late or for nothing changes nothing', () => {
    const { byHand, wheel, channel, heard } = wheelRungByHand();
    const timeouts = postponeTimeouts();
    byHand.ring();
    const deadlineMs = wheel.nowMs() + 50;
    channel.add(deadlineMs, 1);
    for (let each = 0; each < 100; each++) byHand.ring();
    expect(timeouts).toHaveBeenCalledTimes(1);
    while (wheel.nowMs() < deadlineMs + 1);
    expect(heard).toEqual([]);
    byHand.ring();
    expect(heard).toEqual([[1]]);
    byHand.ring();
    expect(timeouts).toHaveBeenCalledTimes(1);
    channel.add(wheel.nowMs() + 1, 2);
    wheel.onApplicationShutdown();
    const passedMs = wheel.nowMs() + 2;
    while (wheel.nowMs() < passedMs);
    byHand.ring();
    expect(heard).toEqual([[1]]);
  });
});
