import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import { AbortRequests } from '../../../src/delay-queue/core/worker/abort-watch.js';
import { AbortWatch } from '../../../src/delay-queue/core/worker/abort-watch.js';

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('a request to end an attempt', () => {
  it('attempts are asked to end, those here at once and others by a hint; a failure is told, not thrown', async () => {
    const told: string[] = [];
    const events = new DelayEvents();
    events.on('taskFailed', ({ task }) => told.push(task));
    events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
    let isDown = false;
    const store = {
      askAborts: async (ids: readonly number[]) => {
        if (isDown) throw new Error('down');
        return ids.map((id) => ({ id, epoch: 5, isOwn: id === 1 }));
      },
    };
    const here: unknown[] = [];
    const hints: unknown[] = [];
    const notifier = { abort: async (ids: number[]) => void hints.push(ids) };
    const jobs = { abort: (claims: { id: number }[]) => here.push(claims.map(({ id }) => id)) };
    const requests = new AbortRequests({ store, notifier, events } as never, jobs as never);
    await requests.send([1, 2]);
    expect([here, hints, told]).toEqual([[[1, 2]], [[2]], []]);
    isDown = true;
    await requests.send([1]);
    isDown = false;
    await requests.send([3]);
    expect([hints, told]).toEqual([
      [[2], [3]],
      ['abort', 'abort again'],
    ]);
  });
});

describe('the watch for requests', () => {
  /** Ids that each look has asked for. */
  let looks: number[][];
  /** Wishes that are there. */
  let wishes: { id: number; epoch: number }[];
  let isDown: boolean;
  let aborted: number[];
  let jobs: Jobs;
  let watch: AbortWatch;
  const run = (id: number, over = false): Attempt => {
    const holder = { abort: (of: Attempt) => aborted.push(of.id) };
    const claim = { id, epoch: 2, over, holder } as unknown as Attempt;
    jobs.adopt(claim);
    return claim;
  };
  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    [looks, wishes, isDown, aborted, jobs] = [[], [], false, [], new Jobs()];
    const takeAborts = async (claims: readonly { id: number }[]) => {
      looks.push(claims.map(({ id }) => id));
      if (isDown) throw Object.assign(new Error('read-only'), { code: '25006' });
      return wishes;
    };
    watch = new AbortWatch({ store: { takeAborts } as never, jobs, events: new DelayEvents() });
    watch.start();
  });
  afterEach(async () => {
    await watch.stop();
    jest.useRealTimers();
  });
  it('a node looks every two seconds for what it runs, and not when that is nothing', async () => {
    await pass(10_000);
    expect(looks).toEqual([]);
    run(1);
    run(2, true);
    wishes = [{ id: 1, epoch: 2 }];
    await pass(1_999);
    expect(looks).toEqual([]);
    await pass(1);
    expect([looks, aborted]).toEqual([[[1]], [1]]);
    await pass(2_000);
    expect(looks).toHaveLength(2);
  });
  it('only the claim that is meant is ended', async () => {
    run(1);
    wishes = [
      { id: 1, epoch: 1 },
      { id: 2, epoch: 2 },
    ];
    await pass(2_000);
    expect(aborted).toEqual([]);
  });
  it('a hint about what runs here brings the look forward, twenty times a second at most', async () => {
    run(1);
    watch.hinted([2, 3]);
    await pass(50);
    expect(looks).toEqual([]);
    watch.hinted([2, 1]);
    await pass(0);
    expect(looks).toEqual([[1]]);
    for (let each = 0; each < 40; each += 1) {
      watch.hinted([1]);
      await pass(1);
    }
    expect(looks).toHaveLength(1);
    await pass(10);
    expect(looks).toHaveLength(2);
  });
  it('a thousand at a time, and again after a failure', async () => {
    for (let id = 1; id <= 1_001; id += 1) run(id);
    isDown = true;
    await pass(2_000);
    expect(looks.map(({ length }) => length)).toEqual([1_000]);
    isDown = false;
    await pass(100);
    expect(looks.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
  });
  it('once it is stopped it looks no more, whatever is hinted', async () => {
    run(1);
    for (let each = 0; each < 2; each += 1) watch.hinted([1]);
    await watch.stop();
    watch.hinted([1]);
    expect([looks, jest.getTimerCount()]).toEqual([[[1]], 0]);
  });
});
