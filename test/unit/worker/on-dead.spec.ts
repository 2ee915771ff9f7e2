import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { describeError } from '../../../src/delay-queue/core/api/error-text.js';
import { DelayCodecError } from '../../../src/delay-queue/core/api/errors.js';
import type { PayloadReader } from '../../../src/delay-queue/core/config/payloads.js';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { HandlerRegistry } from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { Attempt, OnDead, type Outcome } from '../../../src/delay-queue/core/worker/attempt.js';
import { plainArguments, argumentsWith, Call } from '../../../src/delay-queue/core/worker/call.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import { Completer } from '../../../src/delay-queue/core/worker/completer.js';
import { readPayloads } from '../../../src/delay-queue/core/worker/invoke.js';

const error = new Error('no');

let told: string[];
let waits: unknown[];
let retried: { id: number; waitMs: number | null; error: string | null }[];
let isGone: boolean;
let completer: Completer;
const store = {
  nodeName: 'node',
  retry: async (items: (typeof retried)[number][]) => {
    retried.push(...items);
    return isGone ? [] : items.filter(({ id }) => id !== 9);
  },
  lookAt: async () => [],
};

beforeEach(() => {
  [told, waits, isGone, retried] = [[], [], false, []];
  const events = new DelayEvents();
  for (const name of ['dead', 'superseded', 'lost', 'released', 'aborted', 'completed'] as const)
    events.on(name, ({ id }: { id: string }) => told.push(`${name} ${id}`));
  events.on('postponed', ({ waitMs }) => told.push(`postponed ${waitMs}`));
  events.on('retrying', (of) => told.push(`retrying ${of.waitMs} ${of.error}`));
  completer = new Completer(
    { store: store as never, events, aliveMs: 1_000, jobs: new Jobs() },
    {
      wrote: () => {},
      waits: (wake) => waits.push(wake),
      freed: ({ id }) => told.push(`freed ${id}`),
      passed: () => {},
      exhausted: async () => 'gone',
      found: () => false,
    },
  );
});

/** The handler that runs the method of a plain batch handler. */
function methodOf(readPayload?: PayloadReader): Handler {
  const registry = new HandlerRegistry();
  const handler = { name: 'a', transactional: false, batch: 5, leaseMs: 1_000, timeoutMs: 2_000 };
  registry.add({ ...handler, limits: {} } as Handler);
  registry.addOnDead('a', { location: 'A.b', readPayload, invoke: () => {} });
  return registry.get('a')!.onDead!;
}

function attemptOf(odd: object = {}, onDead = new OnDead('Error: no', error)): Attempt {
  const row = { id: 1, epoch: 4, name: 'a', key: null, attempts: 3, max_attempts: 3 };
  const more = { extras: null, payload: '[1]', due_ms: 0, created_ms: 0 };
  const handler = methodOf();
  const attempt = new Attempt({ ...row, ...more } as never, handler, Infinity, 80_000, onDead);
  return Object.assign(attempt, { calledAtMs: performance.now(), over: true }, odd);
}

const callOf = (attempt: Attempt): Call => new Call(attempt.handler, [attempt], { release() {} });

const read = async (why: string, reader?: PayloadReader, payload = '[1]'): Promise<unknown> => {
  const attempt = attemptOf({ over: false }, new OnDead(why, undefined));
  Object.assign(attempt.row, { payload });
  const payloads = await readPayloads(callOf(attempt), reader ?? methodOf().readPayload!);
  return payloads instanceof Map ? payloads.get(attempt) : payloads;
};

describe('the method with @OnDeadDelay', () => {
  it('is called alone and in a transaction, under a lease as long as its timeout', () => {
    const called = { transactional: true, batch: null, leaseMs: 2_000, location: 'A.b' };
    expect(methodOf()).toMatchObject(called);
  });

  it('is given why, and what was thrown', () => {
    const call = callOf(attemptOf());
    const why = { error: 'Error: no', cause: error, signal: call.signal };
    expect(plainArguments(call)).toMatchObject({ work: { payload: [1] }, ctx: why });
    const payloads = new Map([[call.attempts[0]!, 'read']]);
    expect(argumentsWith(call, payloads)).toMatchObject({ work: { payload: 'read' }, ctx: why });
  });

  it('gets its payload as any handler, and none where that is what failed', async () => {
    const codecError = new DelayCodecError('no key');
    const fails: PayloadReader = () => Promise.reject(codecError);
    expect(await read('Error: no')).toEqual([1]);
    expect(await read('Error: no', fails)).toMatchObject({ kind: 'unreadable' });
    expect(await read(describeError(codecError), fails)).toBeUndefined();
    const encoded = '{"delay-queue:encoded": "x"}';
    expect(await read(describeError(codecError), undefined, encoded)).toBeUndefined();
    const odd: PayloadReader = () => Promise.reject(error);
    expect(await read(describeError(codecError), odd)).toEqual({ kind: 'unreadable', error });
  });

  it('is called although the node is ending, for an attempt that ran here', async () => {
    const call = callOf(attemptOf({ over: false }));
    const cuts: Outcome[] = [];
    call.onCut = (outcome) => cuts.push(outcome);
    call.close();
    expect([cuts, call.signal.aborted]).toEqual([[], true]);
    expect(await readPayloads(call, call.handler.readPayload!)).toBeInstanceOf(Map);
  });

  it('ends with the dead letter, as the last statement of its transaction', async () => {
    const attempts = [attemptOf(), attemptOf({ id: 9 })];
    const runner = {} as never;
    const { onDead } = attempts[0]!;
    expect(await onDead!.deadLetter(attempts, store as never, runner)).toEqual([1]);
    const dead = { epoch: 4, waitMs: null, refund: 0, error: 'Error: no', ends: 'failed' };
    expect(retried).toMatchObject([
      { id: 1, ...dead },
      { id: 9, ...dead },
    ]);
  });
});

/** @returns what was told once it is written */
async function report(outcome: Outcome, odd: object = {}): Promise<string[]> {
  completer.report(attemptOf(odd), outcome);
  await completer.drain(10_000);
  return told;
}

describe('a call of the method that ends', () => {
  it.each([
    [{}, 'dead 1', []],
    [{ movedOn: true }, 'superseded 1', []],
    [{ goesOn: 'wake' }, 'dead 1', ['wake']],
  ])('well is told of, and of where the delay goes on: %j', async (odd, event, goesOn) => {
    expect(await report({ kind: 'completed' }, odd)).toEqual(['freed 1', event]);
    expect([waits, retried]).toEqual([goesOn, []]);
  });

  it.each<[Outcome, number, string[]]>([
    [{ kind: 'failed', error }, 10_000, ['retrying 10000 @OnDeadDelay of A.b: Error: no']],
    [{ kind: 'discarded', reason: 'x' }, 10_000, ['retrying 10000 @OnDeadDelay of A.b: x']],
    [{ kind: 'unreadable', error }, 10_000, ['retrying 10000 @OnDeadDelay of A.b: Error: no']],
    [{ kind: 'postponed', waitMs: 5 }, 5, ['postponed 5']],
    [{ kind: 'unbegun', error, waitMs: 7 }, 7, []],
    [{ kind: 'released' }, 0, ['released 1']],
    [{ kind: 'aborted' }, 10_000, ['aborted 1']],
  ])('otherwise, as %j, waits, and its row keeps the last error', async (of, waitMs, says) => {
    expect(await report(of)).toEqual(['freed 1', ...says]);
    const waiting = { waitMs, error: 'Error: no', movesDue: false, refund: 0, ends: 'failed' };
    expect(retried).toMatchObject([waiting]);
  });

  it.each([
    [0, 1_000],
    [8_000, 1_000],
    [9_600, 1_200],
    [10_000_000, 300_000],
  ])('badly waits the longer the later it is: %d ms late, %d ms', async (latenessMs, waitMs) => {
    await report({ kind: 'failed', error }, { latenessMs });
    expect(retried).toMatchObject([{ waitMs }]);
  });

  it('and has lost its row is told as lost, and writes nothing when it knows', async () => {
    expect(await report({ kind: 'lost' })).toEqual(['lost 1']);
    expect(retried).toEqual([]);
    isGone = true;
    expect(await report({ kind: 'failed', error })).toEqual(['lost 1', 'freed 1', 'lost 1']);
  });
});
