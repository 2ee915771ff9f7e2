import { beforeEach, describe, expect, it } from '@jest/globals';
import { Attempt } from '../../../../src/delay-queue/execution/call/attempt.js';
import type { Outcome } from '../../../../src/delay-queue/settlement/outcome.js';
import { BatchCall } from '../../../../src/delay-queue/execution/call/batch-call.js';
import type { Handler } from '../../../../src/delay-queue/handlers/handler.js';

const HANDLER = { name: 'a', batch: 10 } as Handler;
const ERROR = new Error('why');
const COMPLETED: Outcome = { kind: 'completed' };
const FAILED: Outcome = { kind: 'failed', error: ERROR };
const LOST: Outcome = { kind: 'lost' };

let attempts: [Attempt, Attempt, Attempt];
let call: BatchCall;

const attempt = (id: number): Attempt =>
  new Attempt({ id, epoch: 1, name: 'a', key: `k${id}` } as never, HANDLER, 1_000 * id, 0);

beforeEach(() => {
  attempts = [attempt(1), attempt(2), attempt(3)];
  call = new BatchCall(HANDLER, attempts);
});

/** What became of each, by id. */
const ends = (outcome: Outcome, of = call): [number, Outcome['kind']][] =>
  [...of.outcomes(outcome)]
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
    const outcomes = [...call.outcomes(outcome)];
    expect(outcomes.map(([, its]) => its)).toEqual(attempts.map(() => ({ kind: 'split', error })));
  });

  it.each<Outcome>([{ kind: 'postponed', waitMs: 5 }, { kind: 'released' }, LOST])(
    'that is %j: each is',
    (outcome) => {
      expect([...call.outcomes(outcome)]).toEqual(attempts.map((each) => [each, outcome]));
    },
  );

  it('of a single delay are those of its handler', () => {
    const alone = new BatchCall(HANDLER, [attempt(7)]);
    expect(ends(FAILED, alone)).toEqual([[7, 'failed']]);
    expect(ends({ kind: 'discarded', reason: '' }, alone)).toEqual([[7, 'discarded']]);
  });

  it('of a batch of which one delay is left are still those of a batch', () => {
    attempts[0].cut(LOST);
    attempts[1].cut(LOST);
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
    attempts[1].cut(LOST);
    expect(call.say('2', FAILED)).toBe(false);
    expect(ends(COMPLETED)).toEqual([
      [1, 'completed'],
      [2, 'lost'],
      [3, 'completed'],
    ]);
  });

  it('takes it out of the transaction’s COMMIT', () => {
    call.say('1', FAILED);
    call.committing = true;
    expect(attempts.map(({ committing }) => committing)).toEqual([false, true, true]);
  });
});

describe('an attempt that loses its lease alone', () => {
  it('is over, and the others go on', () => {
    attempts[0].abort(ERROR);
    attempts[0].cut(LOST);
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
      each.abort(ERROR);
      each.cut(LOST);
    }
    expect(cut).toEqual(LOST);
    expect(call.signal.reason).toBe(ERROR);
  });

  it('changes nothing once the call is over', () => {
    call.over = true;
    attempts[0].cut(LOST);
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
    expect(attempts.map(({ over }) => over)).toEqual([true, true, true]);
    expect(ends(COMPLETED).map(([, kind]) => kind)).toEqual(['lost', 'lost', 'lost']);
  });
});

describe('the whole call', () => {
  it('is cut as a whole, by its timeout say', () => {
    const cuts: Outcome[] = [];
    call.onCut = (outcome) => void cuts.push(outcome);
    call.cut(FAILED);
    expect(cuts).toEqual([FAILED]);
    expect(attempts.every(({ over }) => over)).toBe(true);
    expect(ends(FAILED).map(([, kind]) => kind)).toEqual(['split', 'split', 'split']);
  });

  it('tells the handler once why it is to give up, also when it asks late', () => {
    call.abort(ERROR);
    call.abort(new Error('another'));
    expect(call.signal.reason).toBe(ERROR);
    expect(call.signal).toBe(call.signal);
  });

  it('is closing when one of its attempts is, and over with all of them', () => {
    expect(call.closing).toBe(false);
    attempts[1].closing = true;
    expect(call.closing).toBe(true);
    call.over = true;
    expect(attempts.every(({ over }) => over)).toBe(true);
  });

  it('knows its own rows by name and key', () => {
    expect(call.attemptOf('a', 'k2')).toBe(attempts[1]);
    expect(call.attemptOf('b', 'k2')).toBeUndefined();
    expect(call.attemptOf('a', 'k9')).toBeUndefined();
    expect(call.attemptOf('a', null)).toBeUndefined();
  });
});
