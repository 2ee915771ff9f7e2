import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { ResolvedOptions } from '../../../src/delay-queue/core/config/options.js';
import type { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import { LeaseKeeper } from '../../../src/delay-queue/core/worker/lease-keeper.js';
import type { AttemptStore } from '../../../src/delay-queue/core/store/attempt.store.js';

const LEASE_MS = 40_000;
const EVERY_MS = LEASE_MS / 4;

type Claim = { -readonly [Field in keyof Attempt]: Attempt[Field] };

/** Ids of each renewal that was asked for. */
let renewals: number[][];
/** What the next renewals answer; when none is left, all are renewed. */
let script: ((ids: number[]) => Promise<number[]> | number[])[];
/** Epochs in the table. */
let epochs: Map<number, number>;
let lost: number[];
let jobs: Jobs;
let keeper: LeaseKeeper;
let events: DelayEvents;

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

function claim(id: number, odd: Partial<Claim> = {}, transactional = false): Claim {
  const made = {
    id,
    epoch: 1,
    handler: { transactional },
    leaseEndsAtMs: performance.now() + LEASE_MS,
    movedOn: false,
    over: false,
    holder: {
      lose: (of: Attempt) => {
        lost.push(of.id);
        jobs.written(of);
      },
    },
    ...odd,
  } as Claim;
  epochs.set(id, 1);
  jobs.adopt(made);
  return made;
}

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [renewals, script, lost, epochs] = [[], [], [], new Map()];
  [jobs, events] = [new Jobs(), new DelayEvents()];
  const store = {
    renew: async (claims: readonly Attempt[]) => {
      const ids = claims.map(({ id }) => id);
      renewals.push(ids);
      return (await script.shift()?.(ids)) ?? ids;
    },
    lookAt: async (ids: readonly number[]) =>
      ids.flatMap((id) => (epochs.has(id) ? [{ id, epoch: epochs.get(id) }] : [])),
  } as unknown as AttemptStore;
  keeper = new LeaseKeeper({
    store,
    jobs,
    options: { leaseMs: LEASE_MS } as ResolvedOptions,
    events,
  });
  keeper.start();
});

afterEach(async () => {
  await keeper.stop();
  jest.useRealTimers();
});

describe('a lease', () => {
  it('is renewed once half of it is gone, and counts from when the renewal was asked for', async () => {
    const held = claim(1);
    await pass(EVERY_MS * 2);
    expect(renewals).toEqual([]);
    script = [(ids) => new Promise((resolve) => setTimeout(() => resolve(ids), 3_000))];
    await pass(EVERY_MS);
    expect([renewals, held.leaseEndsAtMs]).toEqual([[[1]], LEASE_MS]);
    await pass(3_000);
    expect(held.leaseEndsAtMs).toBe(EVERY_MS * 3 + LEASE_MS);
    await pass(LEASE_MS * 10);
    expect(lost).toEqual([]);
  });

  it('that is not renewed is lost when it ends, while the renewal is still on its way', async () => {
    script = [() => new Promise((resolve) => setTimeout(() => resolve([]), LEASE_MS * 2))];
    claim(1);
    await pass(LEASE_MS - 1);
    expect(lost).toEqual([]);
    await pass(EVERY_MS + 1);
    expect(lost).toEqual([1]);
    await pass(LEASE_MS * 2);
  });

  it('that ends sooner is renewed before others', async () => {
    claim(1, { leaseEndsAtMs: LEASE_MS - 1 });
    claim(2, { leaseEndsAtMs: LEASE_MS - 5_000 });
    await pass(EVERY_MS * 2);
    expect(renewals).toEqual([[2, 1]]);
  });

  it('of a row that another took is lost at once, of one that is locked it counts on', async () => {
    claim(1);
    claim(2);
    claim(3);
    epochs.set(1, 2);
    epochs.delete(2);
    script = [() => []];
    await pass(EVERY_MS * 3);
    expect(lost).toEqual([1, 2]);
    await pass(EVERY_MS);
    expect(renewals.at(-1)).toEqual([3]);
    expect(lost).toHaveLength(2);
  });

  it('of what its handler has moved on is neither lost nor kept', async () => {
    claim(1, { movedOn: true });
    epochs.delete(1);
    script = Array.from({ length: 9 }, () => () => []);
    await pass(LEASE_MS * 2);
    expect(lost).toEqual([]);
  });

  it('of a transactional attempt is not renewed, nor of one that is over; of one not written down it is', async () => {
    claim(1, {}, true);
    claim(2, { over: true });
    jobs.ended(claim(3, { over: true }, true));
    await pass(LEASE_MS * 3);
    expect(new Set(renewals.flat())).toEqual(new Set([3]));
    expect(lost).toEqual([]);
  });
});

it('after a failure it is tried again in time, and told of', async () => {
  const told: string[] = [];
  events.on('taskFailed', ({ task }) => told.push(task));
  events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
  script = [() => Promise.reject(new Error('down')), (ids) => ids];
  claim(1);
  await pass(LEASE_MS * 2);
  expect(told).toEqual(['renew', 'renew again']);
  expect(lost).toEqual([]);
});

it('a thousand and more are renewed in statements of a thousand, and nothing is kept of what has ended', async () => {
  const held = Array.from({ length: 1_001 }, (_, id) => claim(id + 1));
  await pass(EVERY_MS * 3);
  expect(renewals.map(({ length }) => length)).toEqual([1_000, 1]);
  for (const each of held) jobs.written(each);
  renewals = [];
  await pass(LEASE_MS * 2);
  expect([renewals, jobs.runningCount]).toEqual([[], 0]);
});

it('once it has stopped, no timer is left', async () => {
  claim(1);
  await pass(EVERY_MS);
  await keeper.stop();
  expect(jest.getTimerCount()).toBe(0);
});
