import { expect, it } from '@jest/globals';
import { outcomeOf } from '../../../../src/delay-queue/execution/call/outcome-of.js';

/** What a handler throws whose file found another copy of this package than the engine's. */
const ofAnotherCopy = (meaning: string, more: object): Error =>
  Object.assign(new Error(meaning), { [Symbol.for('nestjs-delay-queue:meaning')]: meaning }, more);

it('DiscardDelay and PostponeDelay of another copy of the package mean the same', () => {
  const discard = ofAnotherCopy('discard', { reason: 'not wanted' });
  expect(outcomeOf(discard, false)).toEqual({ kind: 'discarded', reason: 'not wanted' });
  const postpone = ofAnotherCopy('postpone', { after: '1s' });
  expect(outcomeOf(postpone, false)).toEqual({ kind: 'postponed', waitMs: 1_000 });
});
