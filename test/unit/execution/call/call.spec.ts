import { beforeEach, describe, expect, it } from '@jest/globals';
import { Attempt } from '../../../../src/delay-queue/execution/call/attempt.js';
import type { Outcome } from '../../../../src/delay-queue/settlement/outcome.js';
import { Call } from '../../../../src/delay-queue/execution/call/call.js';
import { outcomeOf } from '../../../../src/delay-queue/execution/call/outcome-of.js';
import type { Handler } from '../../../../src/delay-queue/handlers/handler.js';

const HANDLER = { name: 'a', batch: 10 } as Handler;
const ERROR = new Error('why');
const COMPLETED: Outcome = { kind: 'completed' };
const FAILED: Outcome = { kind: 'failed', error: ERROR };
const LOST: Outcome = { kind: 'lost' };
const PLACE = { release: () => {} };

let attempts: [Attempt, Attempt, Attempt];
let call: Call;

const attempt = (id: number): Attempt =>
  new Attempt({ id, epoch: 1, name: 'a', key: `k${id}` } as never, HANDLER, 1_000 * id, 0);

beforeEach(() => {
  attempts = [attempt(1), attempt(2), attempt(3)];
  call = new Call(HANDLER, attempts, PLACE);
});

/** What it tells of each. */
function ended(outcome: Outcome, of = call): [Attempt, Outcome][] {
  const all: [Attempt, Outcome][] = [];
  of.end(outcome, (...one) => void all.push(one));
  return all;
}

/** What became of each, by id. */
const ends = (outcome: Outcome, of = call): [number, Outcome['kind']][] =>
  ended(outcome, of)
    .map(([{ id }, { kind }]): [number, Outcome['kind']] => [id, kind])
    .toSorted(([a], [b]) => a - b);

describe('outcomes of a batch', () => {
  it.each<[Outcome, unknown]>([
    [FAILED, ERROR],
    [{ kind: 'discarded', reason: 'not wanted' }, 'not wanted'],
  ])('that %j: each is split, with what was thrown', (outcome, error) => {
    const outcomes = ended(outcome);
    expect(outcomes.map(([, its]) => its)).toEqual(attempts.map(() => ({ kind: 'split', error })));
  });

  it('of a batch of which one delay is left are still those of a batch', () => {
    call.lose(attempts[0]);
    call.lose(attempts[1]);
    expect(ends(FAILED)).toEqual([
      [1, 'lost'],
      [2, 'lost'],
      [3, 'split'],
    ]);
  });
});

describe('what is said of one delay', () => {
  it('counts when the call completes, and the last word', () => {
    expect(call.say('2', FAILED)).toBe(true);
    expect(call.say('2', { kind: 'postponed', waitMs: 5 })).toBe(true);
    expect(call.completing).toEqual([attempts[0], attempts[2]]);
    expect(ends(COMPLETED)).toEqual([
      [1, 'completed'],
      [2, 'postponed'],
      [3, 'completed'],
    ]);
  });

  it('takes it out of the transaction’s COMMIT', () => {
    call.say('1', FAILED);
    call.committing('7');
    expect(attempts.map(({ isCommitting }) => isCommitting)).toEqual([false, true, true]);
  });

  it.each<unknown>(['4', '', 2, null, undefined, {}])('is refused of %p', (id) => {
    expect(call.say(id, FAILED)).toBe(false);
    expect(call.completing).toHaveLength(3);
  });
});

describe('an attempt that loses its lease alone', () => {
  it('ends the call only with the last of them', () => {
    let cut: Outcome | undefined;
    call.onCut = (outcome) => {
      cut = outcome;
    };
    for (const each of attempts) {
      expect(cut).toBeUndefined();
      call.lose(each);
    }
    expect(cut).toEqual(LOST);
    expect(call.signal.reason).toMatchObject({ code: 'DELAY_LEASE_LOST' });
  });

  it('is left out by a fence that does not hold its row', () => {
    expect(call.keepOnly(new Set([1, 3]))).toBe(true);
    expect(call.attempts).toEqual([attempts[0], attempts[2]]);
    // A cut would end the session of its transaction, which has just answered the fence.
    call.onCut = () => {
      throw new Error('cut');
    };
    expect(call.keepOnly(new Set())).toBe(false);
    expect(ends(LOST).map(([, kind]) => kind)).toEqual(['lost', 'lost', 'lost']);
  });
});

/** What a handler throws whose file found another copy of this package than the engine's. */
const ofAnotherCopy = (meaning: string, more: object): Error =>
  Object.assign(new Error(meaning), { [Symbol.for('nestjs-delay-queue:meaning')]: meaning }, more);

it('DiscardDelay and PostponeDelay of another copy of the package mean the same', () => {
  const discard = ofAnotherCopy('discard', { reason: 'not wanted' });
  expect(outcomeOf(discard, undefined)).toEqual({ kind: 'discarded', reason: 'not wanted' });
  const postpone = ofAnotherCopy('postpone', { after: '1s' });
  expect(outcomeOf(postpone, undefined)).toEqual({ kind: 'postponed', waitMs: 1_000 });
});
