import { beforeEach, describe, expect, it } from '@jest/globals';
import { Attempt } from '../../../../src/delay-queue/execution/call/attempt.js';
import type { Outcome } from '../../../../src/delay-queue/settlement/outcome.js';
import { Call } from '../../../../src/delay-queue/execution/call/call.js';
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
  it('that completed: each has', () => {
    expect(ends(COMPLETED)).toEqual([
      [1, 'completed'],
      [2, 'completed'],
      [3, 'completed'],
    ]);
  });

  it.each<[Outcome, unknown]>([
    [FAILED, ERROR],
    [{ kind: 'discarded', reason: 'not wanted' }, 'not wanted'],
  ])('that %j: each is split, with what was thrown', (outcome, error) => {
    const outcomes = ended(outcome);
    expect(outcomes.map(([, its]) => its)).toEqual(attempts.map(() => ({ kind: 'split', error })));
  });

  it.each<Outcome>([{ kind: 'postponed', waitMs: 5 }, { kind: 'released' }, LOST])(
    'that is %j: each is',
    (outcome) => {
      expect(ended(outcome)).toEqual(attempts.map((each) => [each, outcome]));
    },
  );

  it('of a single delay are those of its handler', () => {
    const alone = new Call(HANDLER, [attempt(7)], PLACE);
    expect(ends(FAILED, alone)).toEqual([[7, 'failed']]);
    expect(ends({ kind: 'discarded', reason: '' }, alone)).toEqual([[7, 'discarded']]);
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

  it('does not count when the call fails', () => {
    call.say('2', { kind: 'discarded', reason: 'bad' });
    expect(ends(FAILED).map(([, kind]) => kind)).toEqual(['split', 'split', 'split']);
  });

  it.each<unknown>(['4', '', 2, null, undefined, {}])('is refused of %p', (id) => {
    expect(call.say(id, FAILED)).toBe(false);
    expect(call.completing).toHaveLength(3);
  });

  it('is refused of one whose lease is lost', () => {
    call.lose(attempts[1]);
    expect(call.say('2', FAILED)).toBe(false);
    expect(ends(COMPLETED)).toEqual([
      [1, 'completed'],
      [2, 'lost'],
      [3, 'completed'],
    ]);
  });

  it('takes it out of the transaction’s COMMIT', () => {
    call.say('1', FAILED);
    call.committing(true);
    expect(attempts.map(({ committing }) => committing)).toEqual([false, true, true]);
  });
});

describe('an attempt that loses its lease alone', () => {
  it('is over, and the others go on', () => {
    call.lose(attempts[0]);
    expect(attempts.map(({ over }) => over)).toEqual([true, false, false]);
    expect(call.attempts).toEqual([attempts[1], attempts[2]]);
    expect(call.signal.aborted).toBe(false);
    expect(call.attemptOf('a', 'k1')).toBeUndefined();
    expect(call.leaseEndsAtMs).toBe(2_000);
  });

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

  it('changes nothing once the call is over', () => {
    ended(COMPLETED);
    call.lose(attempts[0]);
    expect(ends(COMPLETED).map(([, kind]) => kind)).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
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

describe('the whole call', () => {
  it('is cut as a whole, by its timeout say', () => {
    const cuts: Outcome[] = [];
    call.onCut = (outcome) => void cuts.push(outcome);
    call.called = true;
    call.timeOut();
    expect(cuts).toMatchObject([{ kind: 'failed', error: { code: 'DELAY_TIMEOUT' } }]);
    expect(call.signal.reason).toBe(Reflect.get(cuts[0]!, 'error'));
    expect(ends(FAILED).map(([, kind]) => kind)).toEqual(['split', 'split', 'split']);
  });

  it('tells the handler once why it is to give up, also when it asks late', () => {
    call.close();
    call.called = true;
    call.timeOut();
    expect(call.signal.reason).toMatchObject({ code: 'DELAY_SHUTDOWN' });
    expect(call.signal).toBe(call.signal);
  });

  it('is over with all of its attempts', () => {
    ended(COMPLETED);
    expect(attempts.every(({ over }) => over)).toBe(true);
  });

  it('knows its own rows by name and key', () => {
    expect(call.attemptOf('a', 'k2')).toBe(attempts[1]);
    expect(call.attemptOf('b', 'k2')).toBeUndefined();
    expect(call.attemptOf('a', 'k9')).toBeUndefined();
    expect(call.attemptOf('a', null)).toBeUndefined();
  });
});
