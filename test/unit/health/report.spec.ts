import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { HealthReason } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';
import { DelayEvents } from '../../../src/delay-queue/core/api/events.js';
import { Kept } from '../../../src/delay-queue/ops/kept.js';
import { Noticed } from '../../../src/delay-queue/ops/noticed.js';
import {
  isStuck,
  type NodeReadings,
  nodeReasons,
  serverReasons,
  toReport,
} from '../../../src/delay-queue/ops/report.js';

let events: DelayEvents;
let noticed: Noticed;

beforeEach(() => {
  jest.useFakeTimers();
  events = new DelayEvents();
  noticed = new Noticed(events);
});

afterEach(() => {
  jest.useRealTimers();
});

/** A worker whose loads come every 10 s, the last one now. */
const working = (odd: object = {}): NodeReadings => ({
  state: 'running',
  worker: {
    loads: { everyMs: 10_000, workedAtMs: performance.now(), endedAtMs: performance.now() },
    isIdle: false,
    callsOf: () => undefined,
    ...odd,
  },
});

const reasonsIn = (node: NodeReadings): HealthReason['reason'][] =>
  nodeReasons(node, noticed).map(({ reason }) => reason);

describe('loads', () => {
  it('are missing after three of them, and the process stands still after a minute without any end', () => {
    const node = working();
    jest.advanceTimersByTime(30_000);
    expect([reasonsIn(node), isStuck(node)]).toEqual([[], undefined]);
    jest.advanceTimersByTime(1);
    expect([reasonsIn(node), isStuck(node)]).toEqual([['loadsMissing'], undefined]);
    jest.advanceTimersByTime(30_000);
    expect(isStuck(node)).toEqual({ sinceMs: 60_001 });
  });

  it('that fail are no reason to restart', () => {
    const loads = { everyMs: 10_000, workedAtMs: performance.now(), endedAtMs: performance.now() };
    const node = working({ loads });
    jest.advanceTimersByTime(3_600_000);
    loads.endedAtMs = performance.now();
    expect([reasonsIn(node), isStuck(node)]).toEqual([['loadsMissing'], undefined]);
  });

  it('of a node that leaves the database alone, or runs no worker, are not missing', () => {
    const idle = working({ isIdle: true });
    jest.advanceTimersByTime(3_600_000);
    expect([reasonsIn(idle), isStuck(idle)]).toEqual([[], undefined]);
    const schedules: NodeReadings = { state: 'running', worker: undefined };
    expect([reasonsIn(schedules), isStuck(schedules)]).toEqual([[], undefined]);
  });
});

/** A background task fails. */
const fail = (task: string): void =>
  void events.emit('taskFailed', { task, error: new Error('no') });

describe('a task that fails', () => {
  it('is a reason after 5 s, since its first failure', () => {
    fail('claim');
    jest.advanceTimersByTime(4_999);
    fail('claim');
    expect(reasonsIn(working())).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(nodeReasons(working(), noticed)).toEqual([
      {
        reason: 'taskFailing',
        status: 'degraded',
        task: 'claim',
        forMs: 5_000,
        error: 'Error: no',
        text: 'claim has been failing for 5 s: Error: no',
      },
    ]);
  });

  it('is none once it works again, or has not failed for a minute', () => {
    fail('claim');
    fail('listen');
    jest.advanceTimersByTime(5_000);
    expect(reasonsIn(working())).toEqual(['taskFailing', 'listenLost']);
    events.emit('taskRecovered', { task: 'claim' });
    expect(reasonsIn(working())).toEqual(['listenLost']);
    jest.advanceTimersByTime(55_001);
    expect(reasonsIn(working())).toEqual([]);
  });
});

it('a clock that jumped by a second or more is a reason for five minutes', () => {
  events.emit('clockJumped', { byMs: -999 });
  expect(reasonsIn(working())).toEqual([]);
  events.emit('clockJumped', { byMs: -1_000 });
  jest.advanceTimersByTime(299_999);
  expect(reasonsIn(working())).toEqual(['clockJumped']);
  jest.advanceTimersByTime(1);
  expect(reasonsIn(working())).toEqual([]);
});

it.each(['starting', 'closing', 'stopped'] as const)('a node that is %s is down', (state) => {
  expect(toReport(nodeReasons({ state, worker: undefined }, noticed))).toMatchObject({
    status: 'down',
    reasons: [{ reason: 'notRunning', state }],
  });
});

it('a report is as bad as its worst reason, which comes first', () => {
  const statuses = fc.array(fc.constantFrom('down' as const, 'degraded' as const));
  const property = fc.property(statuses, (all) => {
    const reasons = all.map((status) => ({ status, reason: 'autovacuumOff' }) as HealthReason);
    const report = toReport(reasons);
    const worst = all.includes('down') ? 'down' : 'degraded';
    expect(report.status).toBe(all.length === 0 ? 'up' : worst);
    expect(report.reasons.map(({ status }) => status)).toEqual(
      all.toSorted((one, other) => (one === other ? 0 : one === 'down' ? -1 : 1)),
    );
  });
  fc.assert(property);
});

const limits = {
  lateAfterMs: 60_000,
  heldAfterMs: 86_400_000,
  deadLettersMax: 100,
  snapshotAfterMs: 600_000,
};
const table = {
  schema: 'q',
  table: 'delay',
  rows: 1_000,
  deadRows: 0,
  bytes: 1e6,
  indexBytes: 1e6,
  isVacuumed: true,
  vacuumedAt: null,
};

it.each([
  ['as many dead rows as may be', { deadRows: 110_000 }, []],
  ['one more', { deadRows: 110_001 }, ['bloated']],
  ['indexes as wide as may be', { indexBytes: 101_550_000 }, []],
  ['wider ones', { indexBytes: 101_550_001 }, ['bloated']],
  ['neither vacuum nor room', { deadRows: 1e6, isVacuumed: false }, ['autovacuumOff', 'bloated']],
])('a table with %s', (_what, odd, expected) => {
  const relations = [{ ...table, ...odd }];
  const reasons = serverReasons({ holder: undefined, relations }, limits);
  expect(reasons.map(({ reason }) => reason)).toEqual(expected);
});

it('a look that hangs is not joined by another one, and its error is told meanwhile', async () => {
  const answers = [signal<number>(), signal<number>()];
  let looks = 0;
  const kept = new Kept(() => {
    looks += 1;
    return answers[looks - 1]!.promise;
  }, 5_000);
  const first = kept.now.catch((error: Error) => error.message);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(await first).toBe('no answer within 5 s');
  await jest.advanceTimersByTimeAsync(3_600_000);
  await expect(kept.now).rejects.toThrow('no answer within 5 s');
  expect(looks).toBe(1);
  answers[0]!.resolve(1);
  await jest.advanceTimersByTimeAsync(0);
  answers[1]!.resolve(2);
  expect([await kept.now, looks]).toEqual([2, 2]);
});
