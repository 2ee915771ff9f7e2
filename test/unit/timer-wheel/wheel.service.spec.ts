import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, jest } from '@jest/globals';
import { DelayInvalidError, DelayShutdownError } from '../../../src/delay-queue/core/api/errors.js';
import type { WheelChannel } from '../../../src/delay-queue/core/timer-wheel/wheel.channel.js';
import { WheelSleep } from '../../../src/delay-queue/core/timer-wheel/wheel-sleep.js';
import { NodeProcess } from '../../support/node-process.js';
import { WheelUnderTest } from './wheel-under-test.js';

const test = new WheelUnderTest();

/** Only those that keep the process alive are listed. */
const timeouts = () =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

describe('a volatile timer', () => {
  it('looks again when it was woken early, by the millisecond', async () => {
    let nowMs = test.wheel.nowMs();
    const clock = jest.spyOn(test.wheel, 'nowMs').mockImplementation(() => nowMs);
    const whole = Math.ceil(nowMs);
    nowMs = whole + 0.4;
    let ran = false;
    const done = test.passed(5).then(() => (ran = true));
    nowMs = whole + 5.39;
    const looked = clock.mock.calls.length;
    while (clock.mock.calls.length < looked + 6) await new Promise(setImmediate);
    expect(ran).toBe(false);
    nowMs = whole + 5.5;
    await done;
  });

  it('does not run once cancelled, not even by its neighbour of the same turn', async () => {
    const ran: string[] = [];
    const early = test.wheel.after(1, () => void ran.push('early'));
    expect([test.wheel.cancel(early), test.wheel.cancel(early)]).toEqual([true, false]);
    const canceller = test.wheel.after(2, () => {
      ran.push(`cancelled: ${test.wheel.cancel(neighbour)}`);
    });
    const neighbour = test.wheel.after(2, () => void ran.push('neighbour'));
    const last = test.passed(2);
    test.busyUntil(test.wheel.nowMs() + 4);
    await last;
    expect(test.wheel.cancel(canceller)).toBe(false);
    expect(ran).toEqual(['cancelled: true']);
  });

  it.each<any>([-1, NaN, 'soon', undefined])('refuses %p', (ms) => {
    const after = () => test.wheel.after(ms, () => {});
    expect(after).toThrow(DelayInvalidError);
    expect(after).toThrow(/^after: /);
  });

  it('that throws or rejects is told of, and harms no other', async () => {
    test.wheel.after(2, () => {
      throw new Error('thrown');
    });
    test.wheel.after(2, () => Promise.reject(new Error('rejected')));
    test.wheel.after(2, () => {
      throw null;
    });
    await test.passed(3);
    await test.passed(0);
    // Who rejects is heard of a microtask later, perhaps in another turn.
    const complaints = test.complaints.map((line) => line.split(/ failed: |\n/)[1]);
    expect(complaints).toHaveLength(3);
    expect(new Set(complaints)).toEqual(new Set(['Error: rejected', 'Error: thrown', 'null']));
  });

  it('sees the AsyncLocalStorage of whoever set it, and nobody else does', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen = new Map<string, string | undefined>();
    const look = (who: string) => void seen.set(who, storage.getStore());
    const channel = test.wheel.channel(() => look('a channel'));
    storage.run('a request', () => {
      channel.add(test.wheel.nowMs() + 2, 1);
      test.wheel.after(4, () => look('its own timer'));
    });
    test.wheel.after(6, () => look('a later timer'));
    await test.passed(8);
    expect(Object.fromEntries(seen)).toEqual({
      'a channel': undefined,
      'its own timer': 'a request',
      'a later timer': undefined,
    });
  });

  it.each([0, 2 ** 24 + 1, '10'])('has no room for %p of them: the start says so', (capacity) => {
    expect(() => test.renew(capacity as number)).toThrow(
      /^WheelService: WHEEL_CAPACITY: must be a whole number from 1 to 16777216, not /,
    );
    test.renew();
  });

  it('takes no room of a channel, nor does one channel of another', async () => {
    test.renew(1);
    const [few, many] = [test.listen(1), test.listen(5)];
    test.wheel.after('1m', () => {});
    const nowMs = test.wheel.nowMs();
    expect(few.channel.add(nowMs + 60_000, 0)).toBeDefined();
    expect(few.channel.add(nowMs, 1)).toBeUndefined();
    for (let tag = 2; tag <= 6; tag++) expect(many.channel.add(nowMs, tag)).toBeDefined();
    expect(many.channel.add(nowMs, 7)).toBeUndefined();
    expect(await many.next()).toEqual([2, 3, 4, 5, 6]);
  });
});

describe('a channel', () => {
  it('hears of a moved entry once, at its new time, and never of a cancelled one', async () => {
    const { channel, next, heard } = test.listen();
    const nowMs = test.wheel.nowMs();
    const moved = channel.add(nowMs + 50_000, 2 ** 53 - 1)!;
    const cancelled = channel.add(nowMs + 1, 2)!;
    expect([channel.cancel(cancelled), channel.cancel(cancelled)]).toEqual([true, false]);
    expect([channel.move(cancelled, 0), channel.move(moved, nowMs + 5)]).toEqual([false, true]);
    expect(await next()).toEqual([2 ** 53 - 1]);
    expect(channel.move(moved, 0)).toBe(false);
    await test.passed(1);
    expect(heard).toHaveLength(1);
  });

  it('gets all tags of one turn at once, in the order of their deadlines', async () => {
    const { channel, next, heard } = test.listen();
    const startMs = test.wheel.nowMs();
    for (const aheadMs of [3, 1, 2, 1]) channel.add(startMs + aheadMs, aheadMs);
    test.busyUntil(startMs + 5);
    expect(await next()).toEqual([1, 1, 2, 3]);
    expect(heard).toHaveLength(1);
  });

  it('may add, cancel, throw and close inside its callback', async () => {
    const steps: string[] = [];
    const done = new Promise<void>((resolve) => {
      const channel: WheelChannel = test.wheel.channel((tags) => {
        steps.push(tags.join());
        if (tags[0] === 1) {
          const dropped = channel.add(test.wheel.nowMs() - 1, 2)!;
          channel.add(test.wheel.nowMs() - 1, 3);
          steps.push(`cancelled: ${channel.cancel(dropped)}`);
          throw new Error('in a callback');
        }
        channel.add(0, 4);
        channel.close();
        test.wheel.after(3, resolve);
      });
      channel.add(0, 1);
    });
    await done;
    expect(steps).toEqual(['1', 'cancelled: true', '3']);
    expect(test.complaints.join()).toContain('in a callback');
  });

  it('is not called any more once another of the same turn has closed it', async () => {
    const first = test.wheel.channel(() => second.channel.close());
    const [second, third] = [test.listen(), test.listen()];
    for (const channel of [first, second.channel, third.channel]) channel.add(0, 1);
    await third.next();
    expect(second.heard).toEqual([]);
    expect(second.channel.add(0, 1)).toBeUndefined();
  });

  it('hears of a full slot in pieces, and others get their turn in between', async () => {
    const { channel, heard } = test.listen();
    const tags = Array.from({ length: 5_000 }, (_, tag) => tag);
    for (const tag of tags) channel.add(0, tag);
    let turns = 0;
    while (heard.flat().length < tags.length) {
      await new Promise(setImmediate);
      turns += 1;
    }
    expect(turns).toBeGreaterThan(2);
    expect(heard.length).toBeGreaterThan(2);
    expect(heard.flat()).toEqual(tags);
  });

  it('drops its own farthest when asked, never a volatile timer', () => {
    const { channel } = test.listen();
    const nowMs = test.wheel.nowMs();
    test.wheel.after('1h', () => {});
    channel.add(nowMs + 100_000, 1);
    channel.add(nowMs + 200, 2);
    const evicted = [300_000, 300, 300, 0, 0].map((ms) => channel.evictFarthest(nowMs + ms));
    expect(evicted).toEqual([undefined, 1, undefined, 2, undefined]);
  });
});

describe('the one setTimeout', () => {
  it('keeps the process alive for volatile timers, and only for them', () => {
    const { channel } = test.listen();
    const before = timeouts();
    channel.add(test.wheel.nowMs() + 1_000, 1);
    expect(timeouts()).toBe(before);
    const timers = [60_000, 500, 2_000].map((ms) => test.wheel.after(ms, () => {}));
    expect(timeouts()).toBe(before + 1);
    for (const timer of timers) test.wheel.cancel(timer);
    expect(timeouts()).toBe(before);
  });

  it('lets a process end though a channel waits, and does not wait for others to wake', async () => {
    const quiet = NodeProcess.start('test/unit/timer-wheel/fixtures/quiet-process.ts');
    expect(await quiet.exited).toEqual({ code: 0, signal: null });
    expect(quiet.output).toBe('volatile\nchannel 2\n');
  });

  it('never sleeps longer than a minute, whatever waits', () => {
    const spy = jest.spyOn(globalThis, 'setTimeout');
    for (const ms of ['90d', '1h', 30_000] as const) test.wheel.after(ms, () => {});
    const sleepsMs = spy.mock.calls.map(([, ms]) => ms);
    expect(sleepsMs.slice(0, 2)).toEqual([60_000, 60_000]);
    expect(sleepsMs[2]).toBeLessThanOrEqual(30_001);
  });
});

it('a sleep replaces the one before it, also one that was over at once', async () => {
  let woken = 0;
  const sleep = new WheelSleep(() => (woken += 1));
  sleep.sleepUntil(0);
  sleep.sleepUntil(Infinity);
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
  expect(woken).toBe(0);
  sleep.sleepUntil(0);
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
  expect(woken).toBe(1);
});

it('shutdown cancels volatile timers first, while channels go on, and then stops altogether', async () => {
  const ran: string[] = [];
  const timer = test.wheel.after(1, () => void ran.push('volatile'));
  const { channel, next, heard } = test.listen();
  test.wheel.beforeApplicationShutdown();
  expect(test.wheel.cancel(timer)).toBe(false);
  expect(() => test.wheel.after(1, () => {})).toThrow(DelayShutdownError);
  channel.add(test.wheel.nowMs() + 5, 7);
  expect(await next()).toEqual([7]);
  expect(ran).toEqual([]);
  channel.add(test.wheel.nowMs() + 1, 8);
  test.wheel.onApplicationShutdown();
  expect(channel.add(0, 9)).toBeUndefined();
  expect(() => test.wheel.channel(() => {})).toThrow(DelayShutdownError);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(heard).toEqual([[7]]);
});
