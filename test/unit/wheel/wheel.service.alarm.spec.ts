import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { WheelAlarm } from '../../../src/delay-queue/wheel/wheel-alarm.js';
import { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';
import { randomOf } from '../../../src/random.js';
import { ThreadWatch } from '../../support/thread-watch.js';
import { WheelUnderTest } from './wheel-under-test.js';

const MINUTE_MS = 60_000;

const watch = new ThreadWatch();
const test = new WheelUnderTest({ withAlarm: true });

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

  it('fires by its timeout when the thread has died', async () => {
    const debug = jest.spyOn(Logger.prototype, 'debug').mockReturnValue();
    const { channel, next } = test.listen();
    const deadlineMs = test.wheel.nowMs() + 30;
    channel.add(deadlineMs, 1);
    const fired = next();
    await watch.thread.terminate();
    expect(await fired).toEqual([1]);
    expect(test.wheel.nowMs()).toBeGreaterThanOrEqual(deadlineMs);
    await test.passed(5);
    expect(debug).toHaveBeenCalledTimes(1);
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

  it('lets it be for a sleep below 2 ms', async () => {
    const ringAt = jest.spyOn(test.alarm!, 'ringAt');
    await test.passed(1);
    await test.passed(1.9);
    expect(ringAt).not.toHaveBeenCalled();
    await test.passed(10);
    expect(ringAt).toHaveBeenCalled();
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
    const alarm = new RungByHand();
    const wheel = new WheelService(10, alarm);
    const heard: (readonly number[])[] = [];
    const channel = wheel.channel((tags) => void heard.push(tags));
    return { alarm, wheel, channel, heard };
  }

  it('that comes early, late or for nothing changes nothing', () => {
    const { alarm, wheel, channel, heard } = wheelRungByHand();
    const timeouts = postponeTimeouts();
    alarm.ring();
    const deadlineMs = wheel.nowMs() + 50;
    channel.add(deadlineMs, 1);
    for (let each = 0; each < 100; each++) alarm.ring();
    expect(timeouts).toHaveBeenCalledTimes(1);
    while (wheel.nowMs() < deadlineMs + 1);
    expect(heard).toEqual([]);
    alarm.ring();
    expect(heard).toEqual([[1]]);
    alarm.ring();
    expect(timeouts).toHaveBeenCalledTimes(1);
    channel.add(wheel.nowMs() + 1, 2);
    wheel.onApplicationShutdown();
    const passedMs = wheel.nowMs() + 2;
    while (wheel.nowMs() < passedMs);
    alarm.ring();
    expect(heard).toEqual([[1]]);
  });

  it('leaves to the next turn of the event loop what is due in that', () => {
    const { alarm, wheel, channel, heard } = wheelRungByHand();
    channel.add(0, 1);
    alarm.ring();
    expect(heard).toEqual([]);
    wheel.onApplicationShutdown();
  });
});
