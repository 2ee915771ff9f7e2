import { beforeEach, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { TaskHealth } from '../../../src/delay-queue/core/tasks/task-health.js';
import { BeginCoolDown } from '../../../src/delay-queue/core/worker/begin-cool-down.js';

const BROKEN = new Error('too many clients already');

let told: string[];
let beginCoolDown: BeginCoolDown;
let events: DelayEvents;

beforeEach(() => {
  told = [];
  events = new DelayEvents();
  for (const event of ['taskFailed', 'taskRecovered'] as const) {
    events.on(event, ({ task }) => told.push(`${event} ${task}`));
  }
  beginCoolDown = new BeginCoolDown(events);
});

it('calls that fail in a row rest for longer and longer, up to five seconds', () => {
  let nowMs = 0;
  for (let n = 0; n < 12; n += 1) {
    const restMs = beginCoolDown.failed(BROKEN, nowMs);
    const fullMs = Math.min(5_000, 100 * 2 ** n);
    expect(restMs).toBeGreaterThanOrEqual(fullMs / 2);
    expect(restMs).toBeLessThanOrEqual(fullMs);
    // Who fails while others rest does so until these do.
    expect(beginCoolDown.failed(BROKEN, nowMs + 10)).toBeCloseTo(restMs - 10);
    nowMs += restMs;
  }
});

it('one that begins ends the failure, and the next failure is a first one', () => {
  for (const nowMs of [0, 10_000]) beginCoolDown.failed(BROKEN, nowMs);
  for (let begun = 0; begun < 2; begun += 1) beginCoolDown.worked();
  expect(beginCoolDown.failed(BROKEN, 10_001)).toBeLessThanOrEqual(100);
  expect(told).toEqual([
    'taskFailed begin',
    'taskFailed begin',
    'taskRecovered begin',
    'taskFailed begin',
  ]);
});

it('a rest ends when something else works again, and who fails then rests anew', () => {
  const other = new TaskHealth(events, 'load');
  other.failed(BROKEN);
  for (let n = 0; n < 6; n += 1) beginCoolDown.failed(BROKEN, n * 10_000);
  let released = 0;
  beginCoolDown.whenAnotherWorks(() => (released += 1));
  other.worked();
  expect(released).toBe(1);
  expect(beginCoolDown.failed(BROKEN, 50_001)).toBeGreaterThanOrEqual(2_500);
});
