import { beforeEach, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { BeginRest } from '../../../../src/delay-queue/execution/transaction/begin-rest.js';

const BROKEN = new Error('too many clients already');

let told: string[];
let beginRest: BeginRest;

beforeEach(() => {
  told = [];
  const events = new DelayEvents();
  events.on('trouble', ({ during }) => told.push(`trouble ${during}`));
  events.on('recovered', ({ during }) => told.push(`recovered ${during}`));
  beginRest = new BeginRest(events);
});

it('calls that fail in a row rest for longer and longer, up to five seconds', () => {
  let nowMs = 0;
  const rests: number[] = [];
  for (let n = 0; n < 12; n += 1) {
    const restMs = beginRest.failed(BROKEN, nowMs);
    rests.push(restMs);
    nowMs += restMs;
  }
  for (const [n, restMs] of rests.entries()) {
    const fullMs = Math.min(5_000, 100 * 2 ** n);
    expect(restMs).toBeGreaterThanOrEqual(fullMs / 2);
    expect(restMs).toBeLessThanOrEqual(fullMs);
  }
});

it('calls that fail while others rest do so until these do', () => {
  const restMs = beginRest.failed(BROKEN, 1_000);
  expect(beginRest.failed(BROKEN, 1_010)).toBeCloseTo(restMs - 10);
  expect(beginRest.failed(BROKEN, 1_020)).toBeCloseTo(restMs - 20);
});

it('one that begins ends the trouble, and the next failure is a first one', () => {
  beginRest.failed(BROKEN, 0);
  beginRest.failed(BROKEN, 10_000);
  beginRest.worked();
  beginRest.worked();
  expect(beginRest.failed(BROKEN, 10_001)).toBeLessThanOrEqual(100);
  expect(told).toEqual(['trouble begin', 'trouble begin', 'recovered begin', 'trouble begin']);
});
