import { Acknowledger } from '../../../src/delay-queue/settlement/acknowledger.js';
import { Call } from '../../../src/delay-queue/execution/call/call.js';
import { NextClaim } from '../../../src/delay-queue/execution/places/next-claim.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { CROWDED, removesWhatIsThere } from './fences.js';
import { believeInTheLease, fenceBatchesTooLate } from './late-fences.js';
import type { Mutant } from './mutant.js';

/** Mutants that do to a batch what must not be done to one of its delays. */
export const BATCHES: Record<string, Mutant> = {
  'splits-for-an-attempt': {
    about: 'counts a batch that failed as an attempt of each of its delays',
    faults: [],
    seconds: 20,
    rate: CROWDED,
    apply: (surgery) =>
      surgery.wrap(
        Acknowledger.prototype,
        'report',
        (original) =>
          function charged(this: Acknowledger, attempt, outcome) {
            const charge = outcome.kind === 'split' ? 'failed' : outcome.kind;
            return original.call(this, attempt, { ...outcome, kind: charge } as typeof outcome);
          },
      ),
  },
  'batches-what-failed': {
    about: 'lets a delay that has failed travel in batches again',
    faults: [],
    seconds: 15,
    rate: CROWDED,
    apply: (surgery) =>
      surgery.wrap(
        NextClaim.prototype,
        'admit',
        (original) =>
          function forgetful(this: NextClaim, entry) {
            entry.failed = false;
            return original.call(this, entry);
          },
      ),
  },
  'forgets-what-was-said': {
    about: 'completes a delay of which its batch handler said that it failed',
    faults: [],
    seconds: 12,
    apply: (surgery) => surgery.wrap(Call.prototype, 'say', () => () => true),
  },
  'removes-half-a-batch': {
    about: 'is content when the removal reports fewer rows than the batch had',
    faults: [],
    seconds: 12,
    apply: (surgery) =>
      surgery.wrap(
        AttemptStore.prototype,
        'complete',
        (original) =>
          async function half(this: AttemptStore, items, runner) {
            if (runner === undefined) return original.call(this, items);
            await original.call(this, items.slice(0, Math.ceil(items.length / 2)), runner);
            return items.map(({ id }) => id);
          },
      ),
  },
  'fences-one-of-a-batch': {
    about: 'proves one claim of a batch, and removes what is still there of the others',
    faults: [],
    seconds: 30,
    rate: CROWDED,
    // An effect of one delay in the transactions of two attempts.
    blamedBy: 2,
    apply: (surgery) => {
      believeInTheLease(surgery);
      surgery.wrap(
        AttemptStore.prototype,
        'fence',
        (original) =>
          async function one(this: AttemptStore, runner, claims, idleMs) {
            // Others take the rows over in the order of their ids: the last one is longest its own.
            const fence = await original.call(this, runner, claims.slice(-1), idleMs);
            return fence.ids.length === 0 ? fence : { ...fence, ids: claims.map(({ id }) => id) };
          },
      );
      fenceBatchesTooLate(surgery);
      removesWhatIsThere(surgery);
    },
  },
};
