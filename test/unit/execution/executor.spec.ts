import { afterEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import { Call } from '../../../src/delay-queue/execution/call/call.js';
import { Executor } from '../../../src/delay-queue/execution/executor.js';
import type { FencedParts } from '../../../src/delay-queue/execution/transaction/fenced-transaction.js';
import { IsolationLevel } from '../../../src/delay-queue/execution/transaction/isolation-level.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import { InFlight } from '../../../src/delay-queue/settlement/in-flight.js';
import type { Outcome } from '../../../src/delay-queue/settlement/outcome.js';
import { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';
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

const passTo = async (ms: number): Promise<void> => {
  jest.advanceTimersByTime(ms - Date.now());
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
  const runner = {
    isTransactionActive: false,
    connect: () => connection.promise,
    release: () => Promise.resolve(),
  };
  const fenced = {
    dataSource: { createQueryRunner: () => runner },
    isolation: new IsolationLevel(),
  } as unknown as FencedParts;
  const reported: Outcome[] = [];
  const report = (_: Attempt, outcome: Outcome) => void reported.push(outcome);
  const inFlight = new InFlight();
  const wheel = new WheelService();
  const events = new DelayEvents();
  const executor = new Executor(wheel, fenced, { report }, inFlight, {} as never, events);
  let given = 0;
  const row = { id: 1, epoch: 1, name: 'a', key: null } as never;
  const attempt = new Attempt(row, HANDLER, LEASE_MS, 0);
  const call = new Call(HANDLER, [attempt], { release: () => (given += 1) });
  executor.run(call);
  await passTo(LEASE_MS / 2 - 1);
  expect([reported, inFlight.size]).toEqual([[], 1]);
  await passTo(LEASE_MS / 2);
  expect(reported).toMatchObject([
    { kind: 'unbegun', error: { code: 'DELAY_UNBEGUN', withinMs: LEASE_MS / 2 } },
  ]);
  await passTo(LEASE_MS);
  expect([inFlight.size, given, call.called]).toEqual([0, 0, false]);
  connection.reject(new Error('too many clients already'));
  await passTo(LEASE_MS);
  expect(given).toBe(0);
  await passTo(LEASE_MS + 100);
  expect(given).toBe(1);
  executor.close();
  wheel.onApplicationShutdown();
});
