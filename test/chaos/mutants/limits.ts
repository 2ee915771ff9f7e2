import { Nodes } from '../../../src/delay-queue/cluster/nodes.js';
import { LimitBlocks } from '../../../src/delay-queue/execution/places/limit-blocks.js';
import { isPaused } from '../../../src/delay-queue/store/sql/pauses/pauses.sql.js';
import { tablesOf } from '../../../src/delay-queue/store/tables/schema.js';
import { CROWDED } from './fences.js';
import type { Mutant } from './mutant.js';

const RUNS = "AND d.leased_until > clock.now - interval '1 second') AS runs";
const PAUSED = isPaused(tablesOf('delay_queue'));

/** Mutants that let too many begin, or nobody any more. */
export const LIMITS: Record<string, Mutant> = {
  'counts-without-the-lock': {
    about: 'counts under a limit while others do',
    faults: [],
    seconds: 25,
    blamedBy: 11,
    apply: (surgery) => {
      surgery.rewrite('lockQuotas', { 'DO UPDATE SET filled_at = q.filled_at': 'DO NOTHING' });
      // Two of them have to meet: each has its snapshot before it waits.
      const now = 'SELECT clock_timestamp() AS now';
      surgery.rewrite('claimLimited', { [now]: `${now}, pg_sleep(0.05) AS slept` });
    },
  },
  'counts-its-own-alone': {
    about: 'does not count the leases of other nodes',
    faults: [],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 11,
    apply: (surgery) =>
      surgery.rewrite('claimLimited', { [RUNS]: `AND d.leased_by = $5::text ${RUNS}` }),
  },
  'counts-what-is-over': {
    about: 'counts a lease that is over for ever',
    faults: ['kill'],
    seconds: 40,
    rate: CROWDED,
    apply: (surgery) => surgery.rewrite('claimLimited', { [RUNS]: ') AS runs' }),
  },
  'refills-twice': {
    about: 'refills the bucket of a rate at twice the speed',
    faults: [],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 11,
    apply: (surgery) =>
      surgery.rewrite('claimLimited', { '* b.refill) AS tokens': '* b.refill * 2) AS tokens' }),
  },
  'claims-what-is-paused': {
    about: 'claims what is paused',
    faults: [],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 11,
    apply: (surgery) => {
      surgery.rewrite('claimLimited', { [`AND NOT ${PAUSED}`]: '' });
      surgery.wrap(
        Nodes.prototype,
        'update',
        (original) =>
          function unpaused(this: Nodes, others) {
            return original.call(this, others, []);
          },
      );
    },
  },
  'waits-for-no-place': {
    about: 'never asks again once a limit was full',
    faults: [],
    seconds: 8,
    apply: (surgery) =>
      surgery.wrap(
        LimitBlocks.prototype,
        'learn',
        (original) =>
          function forEver(this: LimitBlocks, left, askedAtMs) {
            const none = left.map((each) =>
              each.places > 0 ? each : { ...each, waitMs: Infinity },
            );
            original.call(this, none, askedAtMs);
          },
      ),
  },
};
