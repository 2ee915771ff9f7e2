import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { WheelAlarm } from '../../../src/delay-queue/wheel/wheel-alarm.js';
import { ENDED, ThreadWatch } from '../../support/thread-watch.js';

const MINUTE_MS = 60_000;

const watch = new ThreadWatch();
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

  it('rings at an earlier deadline that replaces a later one', async () => {
    alarm.ringAt(performance.now() + MINUTE_MS);
    await once(watch.thread, 'online');
    const deadlineMs = performance.now() + 5;
    alarm.ringAt(deadlineMs);
    await nextRing();
    expect(rangAtMs[0]).toBeGreaterThanOrEqual(deadlineMs);
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
  it('is started by the first deadline, and by no other', () => {
    expect(watch.threads).toEqual([]);
    for (const inMs of [1, 2, 3]) alarm.ringAt(performance.now() + inMs);
    expect(watch.threads).toHaveLength(1);
  });

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

  it('ends when the alarm is closed, as it starts', async () => {
    alarm.ringAt(performance.now());
    await alarm.close();
    expect(watch.thread.threadId).toBe(ENDED);
  });

  it('is not started once the alarm is closed', async () => {
    await alarm.close();
    alarm.ringAt(performance.now());
    await alarm.close();
    expect(watch.threads).toEqual([]);
  });

  it('that ended is not started again, and the debug log hears of it once', async () => {
    alarm.ringAt(performance.now() + MINUTE_MS);
    await watch.thread.terminate();
    alarm.ringAt(performance.now());
    expect(watch.threads).toHaveLength(1);
    expect(said).toEqual(['the wheel wakes by setTimeout alone: its thread ended']);
  });

  it('that fails harms nobody', async () => {
    // As when a tool has put counters of its own into the function.
    jest.spyOn(Function.prototype, 'toString').mockReturnValueOnce('() => { counters[0]++; }');
    alarm.ringAt(performance.now());
    await new Promise((resolve) => watch.thread.once('exit', resolve));
    alarm.ringAt(performance.now());
    expect(watch.threads).toHaveLength(1);
    expect(said).toEqual([expect.stringContaining('counters is not defined')]);
  });
});
