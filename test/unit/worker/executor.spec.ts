import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Attempt, type Outcome } from '../../../src/delay-queue/core/worker/attempt.js';
import { Call } from '../../../src/delay-queue/core/worker/call.js';
import { Executor, type ExecutorParts } from '../../../src/delay-queue/core/worker/executor.js';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { TaskHealth } from '../../../src/delay-queue/core/tasks/task-health.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';
import { signal } from '../../support/delay-node.js';

const LEASE_MS = 60_000;
const HANDLER = {
  name: 'a',
  batch: null,
  transactional: true,
  around: [] as Handler['around'],
  leaseMs: LEASE_MS,
  timeoutMs: LEASE_MS,
} as Handler;

const NODE = {
  registry: { all: () => [] },
  names: { inAll: 10 },
  options: { nodeName: 'node-1' },
};

const passTo = async (ms: number): Promise<void> => {
  jest.advanceTimersByTime(Math.max(0, ms - Date.now()));
  await new Promise(setImmediate);
};

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

it('a call that gets no connection is given back in time, and keeps its place until it was answered, and a while', async () => {
  jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'clearImmediate'], now: 0 });
  jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  const connection = signal<never>();
  const connections = { attempts: { connect: () => connection.promise } };
  const reported: Outcome[] = [];
  const report = (_: Attempt, outcome: Outcome) => void reported.push(outcome);
  const wheel = new WheelService();
  const events = new DelayEvents();
  const executor = new Executor({
    ...NODE,
    wheel,
    connections,
    completer: { report },
    events,
  } as unknown as ExecutorParts);
  let given = 0;
  const row = { id: 1, epoch: 1, name: 'a', key: null, extras: null } as never;
  const attempt = new Attempt(row, HANDLER, LEASE_MS, 0);
  const call = new Call(HANDLER, [attempt], { release: () => (given += 1) });
  executor.run(call);
  await passTo(LEASE_MS / 2 - 1);
  expect(reported).toEqual([]);
  await passTo(LEASE_MS / 2);
  expect(reported).toMatchObject([
    { kind: 'unbegun', error: { code: 'DELAY_UNBEGUN', withinMs: LEASE_MS / 2 } },
  ]);
  await passTo(LEASE_MS);
  expect([given, call.called]).toEqual([0, false]);
  connection.reject(new Error('too many clients already'));
  await passTo(LEASE_MS);
  expect(given).toBe(0);
  // A first pause of 50 to 100 ms.
  await passTo(LEASE_MS + 49);
  expect(given).toBe(0);
  await passTo(LEASE_MS + 100);
  expect(given).toBe(1);
  const other = new TaskHealth(events, 'load');
  other.failed(new Error('down'));
  other.worked();
  expect(given).toBe(1);
  executor.close();
  wheel.onApplicationShutdown();
});

describe('a plain call', () => {
  const TIMEOUT_MS = 5_000;
  let reported: string[];
  let released: boolean[];
  let told: string[];
  let overrunning: number;
  let wheel: WheelService;
  let executor: Executor;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'clearImmediate'], now: 0 });
    jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    [reported, released, told, overrunning] = [[], [], [], 0];
    wheel = new WheelService();
    const events = new DelayEvents();
    events.on('started', ({ id }) => told.push(`started ${id}`));
    events.on('overrunning', (of) => told.push(`overrunning ${of.id} ${of.overrunning}`));
    const names = {
      ...NODE.names,
      overrun: () => (overrunning += 1),
      overrunEnded: () => (overrunning -= 1),
    };
    const report = ({ id, calledAtMs }: Attempt, { kind }: Outcome): void =>
      void reported.push(`${kind} ${id} ${calledAtMs}`);
    // None of its sessions is open, so nothing waits for a lock.
    const connections = { handlersPids: [] };
    executor = new Executor({
      ...NODE,
      wheel,
      connections,
      completer: { report },
      names,
      events,
    } as unknown as ExecutorParts);
  });

  afterEach(() => {
    executor.close();
    wheel.onApplicationShutdown();
  });

  function run(invoke: () => unknown): Call {
    const handler: Handler = { ...HANDLER, transactional: false, timeoutMs: TIMEOUT_MS, invoke };
    const row = { id: 1, epoch: 1, name: 'a', key: null, extras: null, payload: 'null' } as never;
    const attempt = new Attempt(row, handler, LEASE_MS, 0);
    const call = new Call(handler, [attempt], { release: (at = false) => void released.push(at) });
    executor.run(call);
    return call;
  }

  it('of a handler that returns no promise is over at once, and its place free', async () => {
    await passTo(7);
    run(() => {
      told.push('runs');
    });
    expect([told, reported, released]).toEqual([['started 1', 'runs'], ['completed 1 7'], [true]]);
    run(() => {
      throw new Error('no');
    });
    expect(reported.at(-1)).toBe('failed 1 7');
  });

  it('of one that does ends with it, once, and its timeout is called off', async () => {
    const work = signal();
    run(() => work.promise);
    expect(reported).toEqual([]);
    await passTo(TIMEOUT_MS - 1);
    work.resolve();
    await passTo(TIMEOUT_MS - 1);
    expect([reported, released]).toEqual([['completed 1 0'], [false]]);
    await passTo(TIMEOUT_MS * 2);
    expect([reported.length, released.length, told]).toEqual([1, 1, ['started 1']]);
  });

  it('that outlives its timeout has failed, and lingers until its handler ends', async () => {
    const work = signal();
    run(() => work.promise);
    await passTo(TIMEOUT_MS);
    expect([reported, released, overrunning]).toEqual([['failed 1 0'], [false], 1]);
    expect(told).toEqual(['started 1', 'overrunning 1 1']);
    work.resolve();
    await passTo(TIMEOUT_MS);
    expect([reported.length, released.length, overrunning]).toEqual([1, 1, 0]);
  });

  it.each([
    [999, []],
    [1_000, ['overrunning 1 1']],
  ])(
    'that was cut by an abort may take a second to end ignoreRejection: %d ms',
    async (ms, says) => {
      const work = signal();
      const call = run(() => work.promise);
      call.onCut?.({ kind: 'aborted' });
      expect([reported, overrunning]).toEqual([['aborted 1 0'], 1]);
      await passTo(ms);
      work.resolve();
      await passTo(ms);
      await passTo(10_000);
      expect([told.slice(1), overrunning]).toEqual([says, 0]);
    },
  );

  it('once the node has ended, is not timed out any more', async () => {
    const work = signal();
    run(() => work.promise);
    executor.close();
    await passTo(TIMEOUT_MS * 2);
    expect(reported).toEqual([]);
    work.resolve();
    await passTo(TIMEOUT_MS * 2);
    expect(reported).toEqual(['completed 1 0']);
  });
});
