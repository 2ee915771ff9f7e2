import { type Mutant, patch } from './mutant.js';

const BATCHER = 'core/worker/batcher.ts';
const CLAIMER = 'core/worker/claimer.ts';
const CLAIM_SIZES = 'core/worker/claim-sizes.ts';
const SIZE = 'core/store/statement-size.ts';

const SIZES_SPEC = ['integration/engine/statement-sizes'];
const ROWS_SPEC = ['integration/engine/unreadable-rows'];

/** What has a time limit and does not adapt, and what is refused and tried again as it is; each with its mend taken out. */
export const LIMITS_AND_REFUSALS: Readonly<Record<string, Mutant>> = {
  'claims-as-many-again': {
    about: 'claims as many again as outlived the limit',
    patches: [patch(CLAIMER, 'if (mayBeLess && !isMended) this.sizes.failed(entries);', '')],
    tests: SIZES_SPEC,
  },
  'claims-as-many-after-silence': {
    about: 'claims as many again as a connection could not answer',
    patches: [patch(CLAIMER, '    if (mayBeLess) this.sizes.failed(entries);\n', '')],
    tests: SIZES_SPEC,
  },
  'stays-small': {
    about: 'asks for no more again, however quick its statements are',
    patches: [patch(SIZE, 'Math.min(this.max, this.#now * 2)', 'this.#now')],
    tests: SIZES_SPEC,
  },
  'shrinks-one-by-one': {
    about: 'asks for one less after a statement that was too much',
    patches: [patch(SIZE, 'Math.floor(asked / 2)', 'asked - 1')],
    tests: ['unit/store/statement-size'],
  },
  'shrinks-the-neighbours': {
    about: 'claims what was too much together with names that are well',
    patches: [
      patch(CLAIM_SIZES, 'claimedWithin !== undefined || claimSize !== undefined;', 'false;'),
    ],
    tests: ['unit/worker/claim-sizes'],
  },
  'claims-two-apart': {
    about: 'lets the claims of names that are not well take both places',
    patches: [patch(CLAIM_SIZES, 'return !this.#isApartInFlight;', 'return true;')],
    tests: ['unit/worker/claim-sizes'],
  },
  'spins-on-one': {
    about: 'claims at once again the one delay whose claim is refused',
    patches: [patch(CLAIMER, 'this.#restMs(entry) : 0', '0 : 0')],
    tests: SIZES_SPEC,
  },
  'hands-out-what-it-cannot-read': {
    about: 'runs a row that holds what no handler may get',
    patches: [patch(CLAIMER, 'if (why === undefined) return', 'if (why !== null) return')],
    tests: ROWS_SPEC,
  },
  'fails-on-infinity': {
    about: 'fails each claim that meets an instant that is infinite',
    patches: [
      patch(
        'core/database/tables.ts',
        '`GREATEST(LEAST(${number}, ${most}), -${most})::bigint`',
        '`(${number} - 0 * least(${most}, 0))::bigint`',
      ),
    ],
    tests: ROWS_SPEC,
  },
  'names-what-it-cannot-name': {
    about: 'takes ids and epochs that JavaScript rounds for those of other rows',
    patches: [patch('core/worker/timer-queue.ts', '!Number.isSafeInteger(id) ||', 'false &&')],
    tests: ROWS_SPEC,
  },
  'leases-for-ever': {
    about: 'waits for a lease that has no end',
    patches: [
      patch(
        'core/database/tables.ts',
        "GREATEST(${row}.wake_at, NULLIF(${row}.leased_until, 'infinity'))",
        'GREATEST(${row}.wake_at, ${row}.leased_until)',
      ),
    ],
    tests: ROWS_SPEC,
  },
  'recurs-nowhere': {
    about: 'goes on at an instant that is none',
    patches: [
      patch(
        'core/recurrence/recurrence.ts',
        'if (!(nextMs >= hereMs + 1 && nextMs <= LAST_MS)) {',
        'if (nextMs === undefined) {',
      ),
    ],
    tests: ROWS_SPEC,
  },
  'takes-any-row': {
    about: 'creates its table without the constraints on infinite times',
    patches: [patch('core/store/rows/row-rules.ts', 'CHECK (isfinite(${column}))', 'CHECK (true)')],
    tests: ROWS_SPEC,
  },
  'writes-the-same-again': {
    about: 'writes again as it is what was refused for good',
    patches: [
      patch(BATCHER, 'const isRefused = isLasting(error);', 'const isRefused = false as boolean;'),
    ],
    tests: ROWS_SPEC,
  },
  'asks-no-encoding': {
    about: 'starts on a database that cannot hold every text',
    patches: [
      patch(
        'core/store/checks/server.ts',
        "isWrong: ({ encoding }) => encoding !== 'UTF8'",
        "isWrong: ({ encoding }) => encoding === 'none'",
      ),
    ],
    tests: ['integration/encodings'],
  },
  'loses-all-leases': {
    about: 'renews no lease when one renewal is refused',
    patches: [
      patch(SIZE, 'if (!isTooMuch(error) && !isLasting(error)) throw error;', 'throw error;'),
    ],
    tests: SIZES_SPEC,
  },
};
