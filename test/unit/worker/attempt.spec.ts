import { beforeEach, describe, expect, it } from '@jest/globals';
import { Attempt, type Outcome } from '../../../src/delay-queue/core/worker/attempt.js';
import { Call, toOutcome } from '../../../src/delay-queue/core/worker/call.js';
import { readPayloads } from '../../../src/delay-queue/core/worker/invoke.js';
import { runMiddleware } from '../../../src/delay-queue/core/worker/middleware.js';
import type { Handler } from '../../../src/delay-queue/core/handlers/handler.registry.js';

const HANDLER = { name: 'a', batch: 10 } as Handler;
const ERROR = new Error('why');
const COMPLETED: Outcome = { kind: 'completed' };
const FAILED: Outcome = { kind: 'failed', error: ERROR };
const LOST: Outcome = { kind: 'lost' };

let attempts: [Attempt, Attempt, Attempt];
let call: Call;

const attempt = (id: number): Attempt =>
  new Attempt(
    { id, epoch: 1, name: 'a', key: `k${id}`, extras: null } as never,
    HANDLER,
    1_000 * id,
    0,
  );

beforeEach(() => {
  attempts = [attempt(1), attempt(2), attempt(3)];
  call = new Call(HANDLER, attempts, { release: () => {} });
});

/** What becomes of each, in the order of their ids. */
function ended(outcome: Outcome): Outcome[] {
  const outcomes: Outcome[] = [];
  call.end(outcome, ({ id }, its) => (outcomes[id - 1] = its));
  return outcomes;
}

it.each<[Outcome, unknown]>([
  [FAILED, ERROR],
  [{ kind: 'discarded', reason: 'not wanted' }, 'not wanted'],
])('a batch that ends with %j is split, also when one delay of it is left', (outcome, error) => {
  call.lose(attempts[0]);
  call.lose(attempts[1]);
  expect(ended(outcome)).toEqual([LOST, LOST, { kind: 'split', error }]);
});

/** A call of one delay, without middleware, whose lease ends then. */
function plainCall(leaseEndsAtMs: number): Call {
  const row = { id: 1, epoch: 1, name: 'a', key: null, extras: null, payload: '1' } as never;
  const around: Handler['around'] = [(_, next) => next()];
  const handler = { ...HANDLER, batch: null, around } as Handler;
  return new Call(handler, [new Attempt(row, handler, leaseEndsAtMs, 0)], { release: () => {} });
}

it('while the lease holds, the handler begins when its payload is read, inside its `around`', async () => {
  const now = plainCall(Infinity);
  expect(await readPayloads(now, (text) => text)).toEqual(new Map([[now.attempts[0], '1']]));
  let calls = 0;
  await runMiddleware(now, {} as never, () => (calls += 1));
  expect(calls).toBe(1);
});

it('when the process stood still until its lease was over, no handler begins', async () => {
  const late = plainCall(-1);
  expect(await readPayloads(late, (text) => text)).toEqual(LOST);
  let calls = 0;
  const called = runMiddleware(late, {} as never, () => (calls += 1));
  await expect(called).rejects.toMatchObject({ code: 'DELAY_LEASE_LOST' });
  expect(calls).toBe(0);
});

describe('what is said of one delay', () => {
  it('counts when the call completes, the last word, and takes it out of the COMMIT', () => {
    const postponed: Outcome = { kind: 'postponed', waitMs: 5 };
    expect([call.say('2', FAILED), call.say('2', postponed)]).toEqual([true, true]);
    expect(call.completing).toEqual([attempts[0], attempts[2]]);
    call.committing(true);
    expect(attempts.map(({ isCommitting }) => isCommitting)).toEqual([true, false, true]);
    expect(ended(COMPLETED)).toEqual([COMPLETED, postponed, COMPLETED]);
  });

  it.each<unknown>(['4', '', 2, null, undefined, {}])('is refused of %p', (id) => {
    expect(call.say(id, FAILED)).toBe(false);
    expect(call.completing).toHaveLength(3);
  });
});

describe('an attempt that loses its lease alone', () => {
  it('ends the call only with the last of them', () => {
    const cuts: Outcome[] = [];
    call.onCut = (outcome) => void cuts.push(outcome);
    for (const each of attempts) {
      expect(cuts).toEqual([]);
      call.lose(each);
    }
    expect(cuts).toEqual([LOST]);
    expect(call.signal.reason).toMatchObject({ code: 'DELAY_LEASE_LOST' });
  });
});

it.each([
  ['discard', { reason: 'not wanted' }, { kind: 'discarded', reason: 'not wanted' }],
  ['postpone', { after: '1s' }, { kind: 'postponed', waitMs: 1_000 }],
])(
  'a %s of another copy of the package, where a handler found one, means the same',
  (meaning, more, outcome) => {
    const thrown = { [Symbol.for('nestjs-delay-queue:meaning')]: meaning, ...more };
    expect(toOutcome(Object.assign(new Error(), thrown), undefined)).toEqual(outcome);
  },
);

describe('an abort', () => {
  // The first is taken out of that COMMIT.
  it.each<[isSent: boolean, nth: 0 | 1, isTold: boolean, cut: Outcome[]]>([
    [false, 1, true, [{ kind: 'aborted' }]],
    [true, 0, true, []],
    [true, 1, false, []],
  ])('comes too late for a COMMIT on its way: sent %p, delay %d', async (...row) => {
    const [isSent, nth, isTold, cut] = row;
    const cuts: Outcome[] = [];
    call.onCut = (outcome) => void cuts.push(outcome);
    call.say('1', FAILED);
    call.committing(isSent);
    call.abort(attempts[nth]);
    await new Promise(setImmediate);
    expect([call.signal.aborted, cuts]).toEqual([isTold, cut]);
  });
});
