import { beforeEach, describe, expect, it } from '@jest/globals';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { Attempt, type Outcome } from '../../../src/delay-queue/core/worker/attempt.js';
import { Call } from '../../../src/delay-queue/core/worker/call.js';
import { readPayloads } from '../../../src/delay-queue/core/worker/invoke.js';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';

const LEASE_MS = 60_000;
const COMPLETED: Outcome = { kind: 'completed' };
const error = new Error('no');
const FAILED: Outcome = { kind: 'failed', error };

const BATCH: Partial<Handler> = { batch: 10 };

/** What the call was cut with before its handler had ended. */
let cuts: Outcome[];
beforeEach(() => {
  cuts = [];
});

function callOf(how: Partial<Handler>, ...ids: number[]): Call {
  const handler = {
    name: 'a',
    batch: null,
    transactional: false,
    leaseMs: LEASE_MS,
    timeoutMs: 5_000,
    ...how,
  } as Handler;
  const leaseEndsAtMs = performance.now() + LEASE_MS;
  const attempts = ids.map((id) => {
    const row = { id, epoch: 1, name: 'a', key: `k${id}`, payload: 'null', extras: null } as never;
    return new Attempt(row, handler, leaseEndsAtMs - id, 0);
  });
  const call = new Call(handler, attempts, { release: () => {} });
  call.onCut = (outcome) => cuts.push(outcome);
  return call;
}

const idsOf = (attempts: readonly Attempt[]): number[] => attempts.map(({ id }) => id);

/** @returns what became of each attempt */
function ended(call: Call, outcome: Outcome): string[] {
  const told: string[] = [];
  call.end(outcome, ({ id }, { kind }) => told.push(`${kind} ${id}`));
  return told.toSorted();
}

/** What is aborted ends later in this turn. */
const turn = (): Promise<void> => Promise.resolve();

describe('a call of a batch', () => {
  it('goes on for the others when one has lost its lease, and is cut when the last has', () => {
    const call = callOf(BATCH, 1, 2);
    call.called = true;
    const [one, other] = call.attempts as [Attempt, Attempt];
    call.lose(one);
    // Told again, it is not the last one that is left.
    call.lose(one);
    expect([one.over, other.over, call.signal.aborted, cuts]).toEqual([true, false, false, []]);
    call.lose(other);
    expect([cuts, call.signal.reason]).toMatchObject([
      [{ kind: 'lost' }],
      { code: 'DELAY_LEASE_LOST' },
    ]);
    expect(ended(call, { kind: 'lost' })).toEqual(['lost 1', 'lost 2']);
    call.lose(other);
    expect(cuts).toHaveLength(1);
  });

  it.each<[Outcome, string]>([
    [FAILED, 'split'],
    [{ kind: 'unreadable', error }, 'split'],
    [{ kind: 'discarded', reason: 'no' }, 'split'],
    [{ kind: 'postponed', waitMs: 5 }, 'postponed'],
  ])('that ends with %j is %s for each, also for the only one left', (outcome, kind) => {
    expect(ended(callOf(BATCH, 1, 2), outcome)).toEqual([`${kind} 1`, `${kind} 2`]);
    const call = callOf(BATCH, 1, 2);
    call.release(call.attempts[0] as Attempt);
    expect(ended(call, outcome)).toEqual([`${kind} 2`, 'released 1'].toSorted());
    expect(ended(callOf(BATCH, 1), outcome)).toEqual([`${outcome.kind} 1`]);
  });

  it('ends as its handler said of each, if it ends well', () => {
    const said = (): Call => {
      const call = callOf(BATCH, 1, 2, 3);
      expect([call.say('2', FAILED), call.say('9', FAILED), call.say(2, FAILED)]).toEqual([
        true,
        false,
        false,
      ]);
      expect(idsOf(call.completing)).toEqual([1, 3]);
      return call;
    };
    expect(ended(said(), COMPLETED)).toEqual(['completed 1', 'completed 3', 'failed 2']);
    expect(ended(said(), FAILED)).toEqual(['split 1', 'split 2', 'split 3']);
  });

  it('commits those of which the handler said nothing else', () => {
    const call = callOf({ ...BATCH, transactional: true }, 1, 2);
    call.say('1', FAILED);
    call.committing(true);
    expect(call.attempts.map(({ isCommitting }) => isCommitting)).toEqual([false, true]);
    call.committing(false);
    expect(call.attempts.map(({ isCommitting }) => isCommitting)).toEqual([false, false]);
  });

  it('has the first end of its leases, and finds an attempt by its key', () => {
    const call = callOf(BATCH, 1, 2);
    const [one, other] = call.attempts as [Attempt, Attempt];
    expect(call.leaseEndsAtMs).toBe(other.leaseEndsAtMs);
    expect(['k1', 'k3', null].map((key) => call.attemptOf('a', key))).toEqual([
      one,
      undefined,
      undefined,
    ]);
    expect(call.attemptOf('b', 'k1')).toBeUndefined();
  });
});

describe('a call whose time is over', () => {
  it.each<[string, (call: Call) => void, string, boolean]>([
    ['before its handler was called', () => {}, 'unbegun', false],
    ['in its handler', (call) => (call.called = true), 'failed', true],
    [
      'while payloads are read',
      (call) => (call.called = call.isReading = true),
      'unreadable',
      true,
    ],
  ])('%s', (_, begin, kind, isTold) => {
    const call = callOf({}, 1);
    begin(call);
    call.timeOut();
    expect([cuts, call.signal.aborted]).toMatchObject([[{ kind }], isTold]);
    // The first reason stays.
    call.close();
    const code = isTold ? 'DELAY_TIMEOUT' : 'DELAY_SHUTDOWN';
    expect(call.signal.reason).toMatchObject({ code });
  });

  it('when it is decided already, is not cut', () => {
    const call = callOf({}, 1);
    ended(call, COMPLETED);
    call.timeOut();
    call.close();
    expect(cuts).toEqual([]);
  });
});

describe('at the end of the node', () => {
  it('what was not called is given back, and what was is told, and loses no attempt by failing', () => {
    callOf({}, 1).close();
    expect(cuts).toEqual([{ kind: 'released' }]);
    const call = callOf({}, 1);
    call.called = true;
    const { signal } = call;
    call.close();
    expect([cuts.length, signal.reason, call.stopping]).toMatchObject([
      1,
      { code: 'DELAY_SHUTDOWN' },
      'released',
    ]);
    expect(ended(call, FAILED)).toEqual(['released 1']);
    const well = callOf({}, 2);
    well.called = true;
    well.close();
    expect(ended(well, COMPLETED)).toEqual(['completed 2']);
  });
});

describe('an abort', () => {
  it.each<[string, Partial<Handler>, boolean, boolean]>([
    ['cuts a transaction', { transactional: true }, true, true],
    ['cuts what was not called', {}, false, true],
    ['tells a plain handler, and no more', {}, true, false],
  ])('%s', async (_, how, isCalled, isCut) => {
    const call = callOf(how, 1);
    call.called = isCalled;
    call.abort(call.attempts[0] as Attempt);
    expect(cuts).toEqual([]);
    await turn();
    expect(cuts).toEqual(isCut ? [{ kind: 'aborted' }] : []);
    expect([call.signal.reason, call.stopping]).toMatchObject([
      { code: 'DELAY_ABORTED' },
      'aborted',
    ]);
  });

  it('of some of a batch ends it once, and gives the others back', async () => {
    const call = callOf({ ...BATCH, transactional: true }, 1, 2, 3);
    call.called = true;
    for (const attempt of call.attempts.slice(0, 2)) call.abort(attempt);
    await turn();
    expect(cuts).toEqual([{ kind: 'aborted' }]);
    expect(ended(call, { kind: 'aborted' })).toEqual(['aborted 1', 'aborted 2', 'released 3']);
  });

  it.each<[string, (call: Call) => void]>([
    ['whose COMMIT is on its way', (call) => call.committing(true)],
    ['that is over', (call) => void ended(call, COMPLETED)],
  ])('of one %s comes too late', async (_, happens) => {
    const call = callOf({ transactional: true }, 1);
    const [attempt] = call.attempts as [Attempt];
    call.called = true;
    happens(call);
    call.abort(attempt);
    await turn();
    expect([cuts, call.stopping]).toEqual([[], undefined]);
  });

  it('comes too late also when COMMIT is sent in the same turn', async () => {
    const call = callOf({ transactional: true }, 1);
    call.called = true;
    call.abort(call.attempts[0] as Attempt);
    call.committing(true);
    await turn();
    expect(cuts).toEqual([]);
  });

  it('of one that was left out ends no other', async () => {
    const call = callOf({ ...BATCH, transactional: true }, 1, 2);
    const [one] = call.attempts as [Attempt];
    call.lose(one);
    call.abort(one);
    await turn();
    expect([cuts, call.stopping]).toEqual([[], undefined]);
  });
});

it('what a call runs is told to it, and what is over hears of nothing any more', () => {
  const call = callOf({}, 1);
  const [attempt] = call.attempts as [Attempt];
  expect(attempt.holder).toBe(call);
  ended(call, COMPLETED);
  expect([attempt.over, attempt.holder === call]).toEqual([true, false]);
});

const read = async (text: string | null): Promise<unknown> => text;
/** Of which those cannot be read. */
const rest = (call: Call, ...ids: number[]) =>
  readPayloads(call, async (text, { key }) => {
    if (ids.some((id) => key === `k${id}`)) throw error;
    return text;
  });

it.each<[Partial<Handler>, string | null, boolean]>([
  [{}, 'k', true],
  [{}, null, false],
  [{ transactional: true }, null, true],
  [BATCH, null, true],
])('a call of %j, of a delay with key %j, has a context: %p', (how, key, hasContext) => {
  const call = callOf(how, 1);
  Object.assign(call.attempts[0] as Attempt, { key });
  expect(call.hasContext).toBe(hasContext);
});

describe('payloads that are read', () => {
  it('go to the handler, but those of attempts that are over by then', async () => {
    const call = callOf(BATCH, 1, 2, 3);
    const reading = readPayloads(call, async (text, owner) => {
      if (owner.key === 'k3') call.lose(call.attempts[0] as Attempt);
      return text;
    });
    expect(call.isReading).toBe(true);
    const payloads = (await reading) as Map<Attempt, unknown>;
    expect([idsOf([...payloads.keys()]), call.isReading]).toEqual([[2, 3], false]);
  });

  it('and those of a batch that cannot be are said of it, and the others run', async () => {
    const call = callOf(BATCH, 1, 2);
    const payloads = (await rest(call, 1)) as Map<Attempt, unknown>;
    expect([idsOf([...payloads.keys()]), idsOf(call.completing)]).toEqual([[2], [2]]);
    expect(ended(call, COMPLETED)).toEqual(['completed 2', 'unreadable 1']);
    expect(await rest(callOf(BATCH, 1, 2), 1, 2)).toEqual(COMPLETED);
    expect(await rest(callOf({}, 1), 1)).toEqual({ kind: 'unreadable', error });
  });

  it.each<[unknown, Outcome]>([
    [new PostponeDelay(5_000), { kind: 'postponed', waitMs: 5_000 }],
    [new PostponeDelay(0), { kind: 'postponed', waitMs: 100 }],
    [new DiscardDelay('old'), { kind: 'discarded', reason: 'old' }],
  ])('may be postponed and discarded', async (thrown, outcome) => {
    expect(await readPayloads(callOf({}, 1), () => Promise.reject(thrown as Error))).toEqual(
      outcome,
    );
  });

  it('are too late when the lease has ended meanwhile, or the call, or the node ends', async () => {
    const late = callOf({}, 1);
    for (const attempt of late.attempts) attempt.leaseEndsAtMs = performance.now();
    expect(await readPayloads(late, read)).toEqual({ kind: 'lost' });
    const over = callOf(BATCH, 1, 2);
    const texts: unknown[] = [];
    const reading = readPayloads(over, async (text) => {
      texts.push(text);
      ended(over, COMPLETED);
      return text;
    });
    expect([await reading, texts.length]).toEqual([{ kind: 'lost' }, 1]);
    const closing = callOf({}, 1);
    closing.called = true;
    closing.close();
    expect(await readPayloads(closing, read)).toEqual({ kind: 'released' });
  });
});
