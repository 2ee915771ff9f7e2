import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { DelayLog } from '../../src/delay-queue/delay.log.js';

const MINUTE_MS = 60_000;

let lines: string[];
let events: DelayEvents;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  for (const level of ['log', 'error'] as const) {
    jest
      .spyOn(Logger.prototype, level)
      .mockImplementation((line: unknown) => void lines.push(String(line)));
  }
  events = new DelayEvents();
  // oxlint-disable-next-line eslint/no-new -- it listens
  new DelayLog(events);
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const fails = (): void => void events.emit('trouble', { during: 'claim', error: new Error('no') });
const works = (): void => void events.emit('recovered', { during: 'claim' });
const FAILED = 'claim failed and is tried again: Error: no';

it('what comes and goes is a line a minute, and does not work again before it stays', () => {
  for (let seconds = 0; seconds < 180; seconds += 15) {
    fails();
    jest.advanceTimersByTime(1_000);
    works();
    jest.advanceTimersByTime(14_000);
  }
  expect(lines).toEqual(Array(3).fill(FAILED));
  jest.advanceTimersByTime(MINUTE_MS);
  expect(lines.slice(3)).toEqual(['claim works again']);
});

it('each outage has its two lines', () => {
  for (let outages = 0; outages < 2; outages += 1) {
    for (let times = 0; times < 5; times += 1) fails();
    works();
    jest.advanceTimersByTime(MINUTE_MS);
  }
  expect(lines).toEqual([FAILED, 'claim works again', FAILED, 'claim works again']);
});

it('a node that stops says no more', () => {
  fails();
  works();
  events.emit('stopped', { node: 'a', unfinished: 0 });
  jest.advanceTimersByTime(MINUTE_MS);
  expect(lines).toEqual([FAILED, 'node a stopped']);
});
