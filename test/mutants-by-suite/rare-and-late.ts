import { type Mutant, patch } from './mutant.js';

const LISTENER = 'core/cluster/listener.ts';
const BATCHER = 'core/worker/batcher.ts';
const SWEEPER = 'core/worker/scanner.ts';
const LOADER = 'core/worker/loader.ts';

/** A guard of a rare state, a clock read at the wrong moment, a signal that a fallback makes good later, a pause that does not grow. */
export const RARE_AND_LATE: Readonly<Record<string, Mutant>> = {
  'skips-late-retries': {
    about: 'a retry of what recurs with `none` is skipped as missed',
    patches: [patch('core/worker/claimer.ts', ' && row.attempts === 1', '')],
    tests: ['integration/recurrences/failures'],
  },
  'waits-for-its-own-move': {
    about: 'a plain handler waits for the row that it has moved in a transaction of its own',
    patches: [
      patch('core/client/self-reschedules.ts', 'transactional || own.movedOn', 'transactional'),
    ],
    tests: ['integration/own-key-transactions'],
  },
  'certain-whatever-a-savepoint-took-back': {
    about: 'what was written before a ROLLBACK TO in plain SQL is told of as certain',
    patches: [
      patch(
        'core/transactions/commit-hooks.ts',
        "end === 'committed' && watch?.rollbacks === rollbacksBefore",
        "end === 'committed'",
      ),
    ],
    tests: ['integration/ends-of-transactions'],
  },
  'helps-from-when-its-own-pass-began': {
    about: 'with a short lease a pass that waits to help others is too old before it has begun',
    patches: [patch(SWEEPER, 'this.#passBeganAtMs = this.#helpAtMs;', '')],
    tests: ['unit/worker/scanner'],
  },
  'leases-from-the-answer': {
    about: 'a lease counts from the answer of its renewal, and outlives that of the row',
    patches: [
      patch(
        'core/worker/lease-keeper.ts',
        'attempt.leaseEndsAtMs = askedAtMs + this.#leaseMs',
        'attempt.leaseEndsAtMs = performance.now() + this.#leaseMs',
      ),
    ],
    tests: ['unit/worker/lease-keeper'],
  },
  'gives-up-after-ten-looks': {
    about: 'a row that is held is given up after ten quick looks',
    patches: [patch('core/store/held-rows.ts', 'looks >= LOOKS_MIN &&', 'looks >= LOOKS_MIN ||')],
    tests: ['unit/store/stable-look'],
  },
  'pauses-end-with-the-next-load': {
    about: 'what was paused until then waits for the next load',
    patches: [patch(LOADER, 'Math.min(this.#loadEveryMs, pauseEndsInMs)', 'this.#loadEveryMs')],
    tests: ['unit/worker/loader'],
  },
  'loads-skip-ties': {
    about: 'a page that ends among delays of one instant leaves out the others',
    patches: [
      patch(
        'core/store/sql/fetch.sql.ts',
        'ORDER BY p.wake_at DESC, p.id DESC LIMIT 1',
        'ORDER BY p.wake_at DESC, p.id LIMIT 1',
      ),
    ],
    tests: ['integration/pages-of-wakes'],
  },
  'vacant-for-the-last-group': {
    about: 'of the groups of a name that have a place, the last one alone is told of',
    patches: [
      patch(
        'core/cluster/notifier.ts',
        'this.#vacant.set(groupText(name, group), { name, group })',
        'this.#vacant.set(name, { name, group })',
      ),
    ],
    tests: ['unit/cluster/notifier'],
  },
  'batchers-never-forget-failures': {
    about: 'the first failure after any number of good statements is followed by a long pause',
    patches: [patch(BATCHER, '        this.#failures = 0;\n', '')],
    tests: ['unit/worker/batcher'],
  },
  'exhausted-are-tried-at-one-pace': {
    about: 'pauses before an exhausted delay is claimed again do not grow',
    patches: [
      patch('core/worker/on-dead-calls.ts', 'tries: delay.tries + 1 }', 'tries: delay.tries }'),
    ],
    tests: ['unit/worker/on-dead-calls'],
  },
  'listeners-never-forget-failures': {
    about: 'a connection that ends once in a while is made anew after a long pause',
    patches: [patch(LISTENER, '    this.#failures = 0;\n', '')],
    tests: ['unit/cluster/listener'],
  },
  'full-pages-are-the-last': {
    about: 'a page of kept calls that is exactly full is taken for all that there are',
    patches: [patch('core/worker/reruns.ts', ' || kept.length === PAGE_MAX', '')],
    tests: ['unit/worker/reruns'],
  },
};
