import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';
import { CROWDED, REMOVAL, REMOVES, removesTooLate } from './fences.js';

/** Mutants that do to a batch what must not be done to one of its delays. */
export const BATCHES = {
  'splits-for-an-attempt': {
    about: 'counts a batch that failed as an attempt of each of its delays',
    patches: [
      patch(
        'core/worker/completer.ts',
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
        'core/worker/admission.ts',
        '  admit(entry: Job, name: NameState): ReturnType<Admit> {\n',
        '  admit(entry: Job, name: NameState): ReturnType<Admit> {\n    entry.failed = false;\n',
      ),
    ],
    seconds: 15,
    rate: CROWDED,
  },
  'forgets-what-was-said': {
    about: 'completes a delay of which its batch handler said that it failed',
    patches: [
      patch('core/worker/call.ts', '    (this.#said ??= new Map()).set(attempt, outcome);\n', ''),
    ],
    seconds: 12,
  },
  'removes-half-a-batch': {
    about: 'is content when the removal reports fewer rows than the batch had',
    patches: [
      patch(
        REMOVAL,
        REMOVES,
        `const half = completing.slice(0, Math.ceil(completing.length / 2));
      if (await this.store.remove(half, runner)) return;`,
      ),
    ],
    seconds: 12,
  },
  'fences-one-of-a-batch': {
    about:
      'commits a batch when the removal reports one of its rows, whatever became of the others',
    patches: [
      // It meets the successor of one of its delays, while those that are nobody else's yet are still its own.
      ...removesTooLate(`    const epochs = new Map(attempts.map(({ id, epoch }) => [id, epoch]));
    if (attempts.length > 1 && (commits += 1) % 2 === 0) {
      await pause(leftMs());
      while (leftMs() > -handler.leaseMs) {
        const rows = await this.parts.store.lookAt([...epochs.keys()]);
        const own = rows.filter(({ id, epoch }) => epochs.get(id) === epoch);
        if (own.length < attempts.length) break;
        await pause(5);
      }
    }
`),
      patch(
        'core/store/sql/attempts.sql.ts',
        '(SELECT c.count FROM counted c) = pg_catalog.cardinality($1::bigint[])',
        '(SELECT c.count FROM counted c) > 0',
      ),
    ],
    seconds: 30,
    rate: CROWDED,
    // An effect of one delay in the transactions of two attempts.
    blamedBy: 2,
  },
} satisfies Record<string, ChaosMutant>;
