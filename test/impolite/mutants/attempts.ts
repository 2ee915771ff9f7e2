import { type ImpoliteMutant, patch } from '../../mutants-by-suite/mutant.js';

/** Mutants that count attempts, or give turns, as they should not. */
export const ATTEMPTS: Record<string, ImpoliteMutant> = {
  'drops-reruns-of-retries': {
    about: 'drops what came while a key ran when that run has failed',
    hole: 'The last change was lost while its key ran',
    patches: [
      patch('core/store/sql/schedule.sql.ts', 'AND (f.dead OR NOT (${IS_NEWER}))', 'AND false'),
    ],
    kinds: ['callers'],
    programs: 60,
    blamedBy: ['lost rerun'],
    tests: ['integration/rerun'],
  },
  'turns-without-a-take': {
    about: 'moves the turn on whenever somebody looks whether there is a slot',
    hole: 'Names did not take turns',
    patches: [
      patch(
        'core/worker/fair-queue.ts',
        `    let taken = 0;
`,
        `    let taken = 0;
    const [next] = this.#queues;
    if (next !== undefined) {
      this.#queues.delete(next[0]);
      this.#queues.set(...next);
    }
`,
      ),
    ],
    kinds: ['turns'],
    programs: 12,
    blamedBy: ['no turn'],
    tests: ['integration/engine/turns', 'unit/worker/slot-keeper'],
  },
  'forgets-lost-claims': {
    about: 'does not remember the claims that nobody answered',
    hole: "The claim's commit hung, and the attempt was lost",
    patches: [
      patch(
        'core/worker/claimer.ts',
        `      this.parts.jobs.lose(entry.id, epoch);
`,
        '',
      ),
    ],
    kinds: ['hung-commits'],
    programs: 4,
    blamedBy: ['attempt without a call', 'forgotten lease', 'late'],
    tests: ['integration/engine/late-claims', 'servers/late-commit'],
  },
  'counts-what-never-began': {
    about: 'counts an attempt whose transaction could not begin',
    hole: 'The pool was busy, and the attempt was lost',
    patches: [
      patch(
        'core/worker/completer.ts',
        'return this.#retry(attempt, { ...GIVE_BACK, waitMs: outcome.waitMs });',
        "return this.#fail(attempt, { kind: 'failed', error: outcome.error });",
      ),
    ],
    kinds: ['callers'],
    programs: 40,
    blamedBy: ['attempt without a call'],
    tests: ['integration/engine/begin'],
  },
};
