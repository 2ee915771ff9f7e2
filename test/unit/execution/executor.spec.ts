import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { Acknowledger } from '../../../src/delay-queue/settlement/acknowledger.js';
import { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import { Call } from '../../../src/delay-queue/execution/call/call.js';
import { InFlight } from '../../../src/delay-queue/settlement/in-flight.js';
import type { Outcome } from '../../../src/delay-queue/settlement/outcome.js';
import { Executor } from '../../../src/delay-queue/execution/executor.js';
import type { FencedParts } from '../../../src/delay-queue/execution/transaction/fenced-transaction.js';
import { IsolationLevel } from '../../../src/delay-queue/execution/transaction/isolation-level.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import type { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';

const BROKEN = new Error('too many clients already');
const HANDLER = {
  name: 'a',
  batch: null,
  transactional: true,
  around: [] as Handler['around'],
  leaseMs: 60_000,
  timeoutMs: 60_000,
} as Handler;

/** What waits in the wheel, by its tag; the test decides when it expires. */
let waiting: Map<number, number>;
let expire: (tags: number[]) => void;
let reported: Outcome[];
let connect: () => Promise<unknown>;
let inFlight: InFlight;
let executor: Executor;

beforeEach(() => {
  waiting = new Map();
  reported = [];
  const wheel = {
    channel: (onExpired: typeof expire) => {
      expire = onExpired;
      return {
        add: (atMs: number, tag: number) => {
          waiting.set(tag, atMs);
          return tag;
        },
        cancel: (tag: number) => waiting.delete(tag),
        move: (tag: number, atMs: number) => waiting.set(tag, atMs),
        close: () => {},
      };
    },
  } as unknown as WheelService;
  const runner = {
    isTransactionActive: false,
    isReleased: false,
    connect: () => connect(),
    release: async () => {},
  };
  const fenced = {
    dataSource: { createQueryRunner: () => runner },
    isolation: new IsolationLevel(),
  } as unknown as FencedParts;
  const acknowledger = {
    report: (_: Attempt, outcome: Outcome) => reported.push(outcome),
  } as unknown as Acknowledger;
  inFlight = new InFlight();
  executor = new Executor(wheel, fenced, acknowledger, inFlight, {} as never, new DelayEvents());
});

/** @returns how often its place was given away */
function run(): { call: Call; given: () => number } {
  const row = { id: 1, epoch: 1, name: 'a', key: null } as never;
  const attempt = new Attempt(row, HANDLER, performance.now() + 60_000, 0);
  let given = 0;
  const call = new Call(HANDLER, [attempt], { release: () => (given += 1) });
  executor.run(call);
  expect(inFlight.size).toBe(1);
  return { call, given: () => given };
}

const turn = (): Promise<void> => new Promise(setImmediate);

const onlyDeadline = (): [tag: number, inMs: number] => {
  expect(waiting.size).toBe(1);
  const [[tag, atMs]] = [...waiting] as [[number, number]];
  waiting.delete(tag);
  return [tag, atMs - performance.now()];
};

describe('a call whose transaction cannot begin', () => {
  it('is given back at once, and keeps its place for a while', async () => {
    connect = () => Promise.reject(BROKEN);
    const { call, given } = run();
    await turn();
    expect(reported).toEqual([{ kind: 'unbegun', error: BROKEN, waitMs: expect.any(Number) }]);
    expect([inFlight.size, given()]).toEqual([0, 0]);
    expect(call.called).toBe(false);
    const [tag] = onlyDeadline();
    expire([tag]);
    expect(given()).toBe(1);
  });

  it('gives its place away when its connection has been answered, not before', async () => {
    let answer!: (error: Error) => void;
    connect = () =>
      new Promise((_, reject) => {
        answer = reject;
      });
    const { given } = run();
    const [tag, inMs] = onlyDeadline();
    // Half of its lease.
    expect(inMs).toBeGreaterThan(29_000);
    expect(inMs).toBeLessThanOrEqual(30_000);
    expire([tag]);
    await turn();
    expect(reported).toMatchObject([{ kind: 'unbegun', error: { code: 'DELAY_UNBEGUN' } }]);
    expect([inFlight.size, given()]).toEqual([0, 0]);
    expect(waiting.size).toBe(0);
    answer(BROKEN);
    await turn();
    expire([onlyDeadline()[0]]);
    expect(given()).toBe(1);
  });
});
