import { describe, expect, it } from '@jest/globals';
import type { WheelChannel } from '../../../src/delay-queue/wheel/wheel.channel.js';
import { WheelUnderTest } from './wheel-under-test.js';

const test = new WheelUnderTest();

describe('a channel', () => {
  it('gets all tags of one turn at once, in the order of their deadlines', async () => {
    const { channel, next, heard } = test.listen();
    const startMs = test.wheel.nowMs();
    for (const aheadMs of [3, 1, 2, 1]) channel.add(startMs + aheadMs, aheadMs);
    while (test.wheel.nowMs() < startMs + 5);
    expect(await next()).toEqual([1, 1, 2, 3]);
    expect(heard).toHaveLength(1);
  });

  it('keeps tags beyond 32 bits, and hears nothing early', async () => {
    const { channel, next } = test.listen();
    const deadlineMs = test.wheel.nowMs() + 10.5;
    channel.add(deadlineMs, 2 ** 53 - 1);
    expect(await next()).toEqual([2 ** 53 - 1]);
    expect(test.wheel.nowMs()).toBeGreaterThanOrEqual(deadlineMs);
  });

  it('hears of a moved entry once, at its new time', async () => {
    const { channel, next, heard } = test.listen();
    const handle = channel.add(test.wheel.nowMs() + 50_000, 1)!;
    expect(channel.move(handle, test.wheel.nowMs() + 5)).toBe(true);
    expect(await next()).toEqual([1]);
    expect(channel.move(handle, 0)).toBe(false);
    await test.passed(1);
    expect(heard).toEqual([[1]]);
  });

  it('never hears of a cancelled entry', async () => {
    const { channel, heard } = test.listen();
    const handle = channel.add(test.wheel.nowMs() + 1, 2)!;
    expect(channel.cancel(handle)).toBe(true);
    expect(channel.cancel(handle)).toBe(false);
    expect(channel.move(handle, 0)).toBe(false);
    await test.passed(2);
    expect(heard).toEqual([]);
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
    const second = test.listen();
    const third = test.listen();
    for (const channel of [first, second.channel, third.channel]) channel.add(0, 1);
    await third.next();
    expect(second.heard).toEqual([]);
    expect(second.channel.add(0, 1)).toBeUndefined();
  });

  it('hears of a full slot in pieces, and others get their turn in between', async () => {
    const { channel, heard } = test.listen();
    const deadlineMs = test.wheel.nowMs();
    for (let tag = 0; tag < 5_000; tag++) channel.add(deadlineMs, tag);
    let turns = 0;
    await new Promise<void>((resolve) => {
      const count = () => {
        turns++;
        if (heard.flat().length < 5_000) setImmediate(count);
        else resolve();
      };
      setImmediate(count);
    });
    expect(turns).toBeGreaterThan(2);
    expect(heard.length).toBeGreaterThan(2);
    expect(heard.flat()).toEqual(Array.from({ length: 5_000 }, (_, tag) => tag));
  });

  it('drops its own farthest when asked, never a volatile timer', () => {
    const { channel } = test.listen();
    const nowMs = test.wheel.nowMs();
    test.wheel.after('1h', () => {});
    channel.add(nowMs + 100_000, 1);
    channel.add(nowMs + 200, 2);
    expect(channel.evictFarthest(nowMs + 300_000)).toBeUndefined();
    expect(channel.evictFarthest(nowMs + 300)).toBe(1);
    expect(channel.evictFarthest(nowMs + 300)).toBeUndefined();
    expect(channel.evictFarthest(nowMs)).toBe(2);
    expect(channel.evictFarthest(nowMs)).toBeUndefined();
  });
});
