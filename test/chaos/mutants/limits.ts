import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';
import { CROWDED } from './fences.js';

const CLAIM_LIMITED = 'core/store/sql/claim.sql.ts';
const RUNS = 'AND d.leased_until > ${PLACE_KEPT_UNTIL} LIMIT 1) IS NOT NULL AS runs';

/** Mutants that let too many begin, or nobody any more. */
export const LIMITS = {
  'counts-without-the-lock': {
    about: 'counts under a limit while others do',
    patches: [
      patch('core/store/sql/claim.sql.ts', 'DO UPDATE SET filled_at = q.filled_at', 'DO NOTHING'),
      // Two of them have to meet: each has its snapshot before it waits.
      patch(
        CLAIM_LIMITED,
        'kept: HistoryKept): string => `\nWITH ${clock(tables)},',
        "kept: HistoryKept): string => `\nWITH ${clock(tables).replace('AS now', 'AS now, pg_sleep(0.05) AS slept')},",
      ),
    ],
    seconds: 25,
    blamedBy: 11,
  },
  'counts-its-own-alone': {
    about: 'does not count the leases of other nodes',
    patches: [patch(CLAIM_LIMITED, RUNS, `AND d.leased_by = $5::text ${RUNS}`)],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 11,
  },
  'counts-what-is-over': {
    about: 'counts a lease that is over for ever',
    patches: [patch(CLAIM_LIMITED, RUNS, 'LIMIT 1) IS NOT NULL AS runs')],
    seconds: 40,
    faults: ['kill'],
    rate: CROWDED,
  },
  'refills-twice': {
    about: 'refills the bucket of a rate at twice the speed',
    patches: [patch(CLAIM_LIMITED, '* k.refill) AS tokens', '* k.refill * 2) AS tokens')],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 11,
  },
  'claims-what-is-paused': {
    about: 'claims what is paused',
    patches: [
      patch('core/store/sql/claim.sql.ts', '\n      AND NOT ${isPaused(tables)}`;', '`;'),
      patch('core/cluster/nodes.ts', 'const paused = ', 'pauses = [];\n    const paused = '),
    ],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 11,
  },
  'waits-for-no-place': {
    about: 'never asks again once a limit was full',
    patches: [
      patch(
        'core/worker/limits.ts',
        'else if (waitMs > 0) this.#begin({ of, group, untilMs: nowMs + waitMs, isFull: false });',
        'else if (slots <= 0) of.throttles.set(group, { of, group, untilMs: Infinity, isFull: false });',
      ),
    ],
    seconds: 8,
  },
} satisfies Record<string, ChaosMutant>;
