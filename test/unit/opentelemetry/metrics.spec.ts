import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DelayFigures, HealthReason, NameFigures, OverdueFigures } from 'nestjs-delay-queue';
import { delayChannels, publishEnd } from '../../../src/delay-queue/core/api/channels.js';
import { COUNTERS, GAUGES } from '../../../src/delay-queue/opentelemetry/instruments.js';
import { ATTRIBUTES } from '../../../src/delay-queue/opentelemetry/names.js';
import { Observer } from '../../../src/delay-queue/opentelemetry/observer.js';
import { Sdk } from '../../support/opentelemetry.js';

const sdk = new Sdk();
let off: () => void;
let overdue: OverdueFigures[];
let reads: number;
let reasons: HealthReason[];
let names: NameFigures[];
let loadAgeMs: number | null;
let isAway: boolean;

const figures = (): DelayFigures => {
  reads += 1;
  return {
    names,
    watched: 0,
    ready: 0,
    loadAgeMs,
    backlog: isAway ? null : { ageMs: 0, dead: 3, dueSoon: 5, overdue },
    connections: { used: 0, idle: 0 },
  };
};

beforeEach(() => {
  reads = 0;
  overdue = [];
  names = [];
  reasons = [];
  loadAgeMs = null;
  isAway = false;
  off = new Observer().observe({
    name: 'here',
    figures,
    reasons: () => reasons,
    refresh: () => {},
  });
});

afterEach(() => off());

const valuesOf = async (metric: string): Promise<unknown[]> =>
  (await sdk.metric(metric)).map(({ value }) => value);

it('what is overdue no more is zero, since an SDK repeats the last value', async () => {
  overdue = [{ name: 'a', heldBy: null, overdue: 7, oldestMs: 61_000, isServed: true }];
  expect(await valuesOf(GAUGES.overdue[0])).toEqual([7]);
  expect(await valuesOf(GAUGES.oldestOverdue[0])).toEqual([61]);
  overdue = [{ name: 'a', heldBy: null, overdue: 6, oldestMs: 62_000, isServed: false }];
  expect(await valuesOf(GAUGES.overdue[0])).toEqual([0, 6]);
  overdue = [];
  expect(await valuesOf(GAUGES.overdue[0])).toEqual([0, 0]);
  expect(await valuesOf(GAUGES.oldestOverdue[0])).toEqual([0, 0]);
});

it('reasons of health are one, and zero when they are gone', async () => {
  reasons = [
    { reason: 'databaseReadOnly', status: 'down', text: 'no writes' },
    { reason: 'unserved', status: 'degraded', text: '', name: 'a', late: 1, oldestLateMs: 1 },
  ];
  const [readOnly, unserved] = await sdk.metric(GAUGES.unhealthy[0]);
  expect([readOnly?.value, unserved?.value]).toEqual([1, 1]);
  expect(readOnly?.attributes).toEqual({
    [ATTRIBUTES.system]: 'nestjs_delay_queue',
    [ATTRIBUTES.reason]: 'databaseReadOnly',
    [ATTRIBUTES.status]: 'down',
  });
  expect(unserved?.attributes).toMatchObject({ [ATTRIBUTES.destination]: 'a' });
  reasons = [];
  expect(await valuesOf(GAUGES.unhealthy[0])).toEqual([0, 0]);
});

it('attempts of a name that is served begin at zero, so that the first dead letter is an increase', async () => {
  names = [{ name: 'a', running: 0, prefetched: 0, concurrency: 10 }];
  // The counters of an export may come before the gauges that know the names.
  await sdk.metric(COUNTERS.attempts[0]);
  const series = await sdk.metric(COUNTERS.attempts[0]);
  const told = series.map(({ attributes, value }) => [attributes[ATTRIBUTES.outcome], value]);
  expect(told).toEqual([
    ['completed', 0],
    ['retrying', 0],
    ['dead', 0],
  ]);
});

it('statements of another node are not its own', async () => {
  const { load } = delayChannels;
  publishEnd(load, { node: 'elsewhere', count: 1 });
  expect(await sdk.metric(COUNTERS.statements[0])).toEqual([]);
  publishEnd(load, { node: 'here', count: 2 });
  publishEnd(load, { node: 'here', count: 0, error: new RangeError('no') });
  expect(await valuesOf(COUNTERS.statements[0])).toEqual([1, 1]);
  expect(await valuesOf(COUNTERS.statementRows[0])).toEqual([2]);
});

/** Of each gauge, the series that it has while all is known. */
async function shown(): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {};
  for (const [gauge, [name]] of Object.entries(GAUGES)) all[gauge] = await valuesOf(name);
  return all;
}

it('a gauge whose figure is not known any more has no value: without a worker, while the database is away, and after the stop', async () => {
  overdue = [{ name: 'a', heldBy: null, overdue: 7, oldestMs: 61_000, isServed: true }];
  names = [{ name: 'a', running: 2, prefetched: 0, concurrency: 10 }];
  reasons = [{ reason: 'databaseReadOnly', status: 'down', text: '' }];
  loadAgeMs = 2_000;
  const all = await shown();
  expect(all).toMatchObject({ running: [2], loadAge: [2], overdue: [7], oldestOverdue: [61] });
  expect(all).toMatchObject({ dueSoon: [5], deadLetters: [3], concurrency: [10], unhealthy: [1] });
  isAway = true;
  const unknown = { overdue: [NaN], oldestOverdue: [NaN], dueSoon: [NaN], deadLetters: [NaN] };
  expect(await shown()).toEqual({ ...all, ...unknown });
  [isAway, overdue] = [false, []];
  expect(await shown()).toEqual({ ...all, overdue: [0], oldestOverdue: [0] });
  [names, loadAgeMs] = [[], null];
  expect(await shown()).toMatchObject({ running: [0], concurrency: [0], loadAge: [NaN] });
  off();
  const over = Object.entries(all).map(([metric, values]) => [metric, values.map(() => NaN)]);
  expect(await shown()).toEqual(Object.fromEntries(over));
  expect(await shown()).toEqual(Object.fromEntries(over));
});

it('a node that has stopped is read no more', async () => {
  await sdk.metric(GAUGES.ready[0]);
  expect(reads).toBeGreaterThan(0);
  off();
  reads = 0;
  await sdk.metric(GAUGES.ready[0]);
  expect(reads).toBe(0);
});
