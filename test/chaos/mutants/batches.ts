import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';
import {
  CROWDED,
  FENCED,
  fencesTooLate,
  REMOVAL,
  REMOVES,
  REMOVES_WHAT_IS_THERE,
} from './fences.js';

/** Mutants that do to a batch what must not be done to one of its delays. */
export const BATCHES = {
  'splits-for-an-attempt': {
    about: 'counts a batch that failed as an attempt of each of its delays',
    patches: [
      patch(
        'worker/completer.ts',
        "      case 'split': {\n",
        "      case 'split': {\n        if (attempt) return this.#fail(attempt, outcome.error);\n",
      ),
    ],
    seconds: 20,
    rate: CROWDED,
  },
  'batches-what-failed': {
    about: 'lets a delay that has failed travel in batches again',
    patches: [
      patch(
        'worker/admission.ts',
        '  admit(entry: Entry, name: NameState): ReturnType<Admit> {\n',
        '  admit(entry: Entry, name: NameState): ReturnType<Admit> {\n    entry.failed = false;\n',
      ),
    ],
    seconds: 15,
    rate: CROWDED,
  },
  'forgets-what-was-said': {
    about: 'completes a delay of which its batch handler said that it failed',
    patches: [patch('worker/call.ts', '    this.#said.set(attempt, outcome);\n', '')],
    seconds: 12,
  },
  'removes-half-a-batch': {
    about: 'is content when the removal reports fewer rows than the batch had',
    patches: [
      patch(
        REMOVAL,
        REMOVES,
        `const half = this.#once.slice(0, Math.ceil(this.#once.length / 2));
    return this.store
      .complete(half, this.#recurring.length === 0 ? runner : beside)
      .then(() => this.#once.map(({ id }) => id));`,
      ),
    ],
    seconds: 12,
  },
  'fences-one-of-a-batch': {
    about: 'proves one claim of a batch, and removes what is still there of the others',
    patches: [
      // It meets the successor of one of its delays, while those that are nobody else's yet are still its own.
      ...fencesTooLate(`    const epochs = new Map(attempts.map(({ id, epoch }) => [id, epoch]));
    if (attempts.length > 1 && (fences += 1) % 2 === 0) {
      await pause(leftMs());
      while (leftMs() > -handler.leaseMs) {
        const rows = await store.lookAt([...epochs.keys()]);
        const own = rows.filter(({ id, epoch }) => epochs.get(id) === epoch);
        if (own.length < attempts.length) break;
        await pause(5);
      }
    }
`),
      // Others take the rows over in the order of their ids: the last one is longest its own.
      patch(
        FENCED,
        'store.fence(runner, this.call.attempts, this.#leaseLeftMs)',
        'store.fence(runner, attempts.slice(-1), this.#leaseLeftMs)',
      ),
      patch(
        FENCED,
        'return this.call.keepOnly(new Set(fence.ids));',
        'return fence.ids.length > 0;',
      ),
      ...REMOVES_WHAT_IS_THERE,
    ],
    seconds: 30,
    rate: CROWDED,
    // An effect of one delay in the transactions of two attempts.
    blamedBy: 2,
  },
} satisfies Record<string, ChaosMutant>;
