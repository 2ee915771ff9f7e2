import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { DelayEventMap } from '../../src/delay-queue/core/api/events.js';
import { DelayLog } from '../../src/delay-queue/core/module/delay.log.js';
import { RecordingLogger } from '../support/recording-logger.js';

const MINUTE_MS = 60_000;

let logger: RecordingLogger;
let events: DelayEvents;

beforeEach(() => {
  jest.useFakeTimers();
  logger = new RecordingLogger();
  Logger.overrideLogger(logger);
  events = new DelayEvents();
  // oxlint-disable-next-line eslint/no-new -- it listens
  new DelayLog(events, { queue: 'default' });
});

afterEach(() => {
  jest.useRealTimers();
});

const fails = (): void => void events.emit('taskFailed', { task: 'claim', error: new Error('no') });
const works = (): void => void events.emit('taskRecovered', { task: 'claim' });
const FAILED = 'claim failed and is tried again: Error: no';

it('what comes and goes is a line a minute, and does not work again before it stays', () => {
  for (let seconds = 0; seconds < 180; seconds += 15) {
    fails();
    jest.advanceTimersByTime(1_000);
    works();
    jest.advanceTimersByTime(14_000);
  }
  expect(logger.lines()).toEqual(Array(3).fill(FAILED));
  jest.advanceTimersByTime(MINUTE_MS);
  expect(logger.lines().slice(3)).toEqual(['claim works again']);
});

it('each outage has its two lines', () => {
  for (let outages = 0; outages < 2; outages += 1) {
    for (let times = 0; times < 5; times += 1) fails();
    works();
    jest.advanceTimersByTime(MINUTE_MS);
  }
  expect(logger.lines()).toEqual([FAILED, 'claim works again', FAILED, 'claim works again']);
});

it('a node that stops says no more', () => {
  fails();
  works();
  events.emit('stopped', { node: 'a', unfinished: 0 });
  jest.advanceTimersByTime(MINUTE_MS);
  expect(logger.lines()).toEqual([FAILED, 'node a stopped']);
});

it('of what was not said to fail nothing is said when it works, and of what works twice it is said once', () => {
  works();
  jest.advanceTimersByTime(MINUTE_MS);
  expect(logger.lines()).toEqual([]);
  fails();
  works();
  jest.advanceTimersByTime(1_000);
  works();
  jest.advanceTimersByTime(MINUTE_MS);
  expect(logger.lines()).toEqual([FAILED, 'claim works again']);
});

const OF = {
  id: '7',
  name: 'order.close',
  key: '42',
  group: null,
  headers: {},
  attempt: 3,
  maxAttempts: 10,
};
const ENDED = { ...OF, latenessMs: 1, dueAt: new Date(0), error: 'Error: no', cause: undefined };
const READY = { node: 'a', names: ['b', 'c'], worker: true, listens: true };
const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

it.each<[keyof DelayEventMap, of: object, line: string]>([
  ['ready', READY, 'node a serves b, c'],
  ['ready', { ...READY, listens: false }, 'node a serves b, c, without LISTEN'],
  ['ready', { ...READY, names: names(50) }, `node a serves ${names(50).join(', ')}`],
  ['ready', { ...READY, names: names(51) }, `node a serves ${names(50).join(', ')} and 1 more`],
  [
    'ready',
    { ...READY, worker: false },
    'node a schedules and runs no handlers until DelayWorker.run()',
  ],
  ['ready', { ...READY, worker: false, names: [] }, 'node a schedules and runs no handlers'],
  ['stopped', { node: 'a', unfinished: 1 }, 'node a stopped; 1 unfinished delays were given back'],
  ['retrying', { ...ENDED, waitMs: 9.6 }, 'order.close #7 (42) failed, again in 10 ms: Error: no'],
  ['dead', { ...ENDED, key: null }, 'order.close #7 is a dead letter after 3 attempts: Error: no'],
  ['lost', OF, 'order.close #7 (42) lost its lease; the result of its attempt was ignored'],
  [
    'overrunning',
    { ...OF, overrunning: 2 },
    'order.close #7 (42) is over but its handler still runs (2 of this name)',
  ],
  [
    'skipped',
    { ...OF, count: 2, from: new Date(0), to: new Date(1) },
    'order.close #7 (42) left out 2 instants, from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.001Z: see catchUp',
  ],
  [
    'withdrawn',
    { ...OF, repeat: { every: '1h' } },
    expect.stringContaining('order.close (42) recurred by {"every":"1h"}') as never,
  ],
  [
    'withdrawn',
    { ...OF, repeat: { cron: '0 * * * *', timeZone: 'UTC', every: undefined } },
    expect.stringContaining('by {"cron":"0 * * * *","timeZone":"UTC"} and') as never,
  ],
])('%s of %j is a line', (event, of, line) => {
  events.emit(event, of as never);
  expect(logger.lines()).toEqual([line]);
});

const unreadable = (name: string): void =>
  void events.emit('unreadable', { ...ENDED, name, durationMs: 1 });

it('what cannot be read is told once a minute of each name', () => {
  for (const name of ['a', 'b', 'a']) unreadable(name);
  expect(logger.lines().map((line) => line.slice(0, 1))).toEqual(['a', 'b']);
  jest.advanceTimersByTime(MINUTE_MS);
  unreadable('a');
  expect(logger.lines()).toHaveLength(3);
});
