import { type Mutant, patch } from './mutant.js';

const CLAIM_LIMITED = 'core/store/sql/claim.sql.ts';
const LINE = 'core/worker/fair-queue.ts';
const PASS_BY = 'core/worker/skip-ahead.ts';

/** Holes that only crowds show: many limits, and plans that were made when there were few. Each with its mend taken out. */
export const CROWDS: Readonly<Record<string, Mutant>> = {
  'reads-all-for-a-permit': {
    about: 'looks through all delays once to see which permits count',
    patches: [
      patch(
        CLAIM_LIMITED,
        '(SELECT d.id FROM ${tables.delay} d, clock\n',
        'EXISTS (SELECT FROM ${tables.delay} d, clock\n',
      ),
      patch(CLAIM_LIMITED, 'LIMIT 1) IS NOT NULL AS runs', ') AS runs'),
    ],
    tests: ['integration/kept-plans'],
  },
  'compares-each-permit': {
    about: 'compares each permit with each that is over',
    patches: [
      patch(
        CLAIM_LIMITED,
        "p.ctid = c.at AND ${expectFew('c')}",
        'p.name = c.name AND p.group_id = c.group_id AND p.id = c.id AND p.epoch = c.epoch',
      ),
    ],
    tests: ['integration/kept-plans'],
  },
  'compares-each-quota': {
    about: 'compares each limit with each that nobody has met for long',
    patches: [
      patch(
        'core/store/sql/nodes.sql.ts',
        'WHERE ctid = ANY (ARRAY(\n    SELECT ctid FROM',
        'WHERE (name, group_id) IN (SELECT * FROM (\n    SELECT name, group_id FROM',
      ),
      patch(
        'core/store/sql/nodes.sql.ts',
        'LIMIT $2::int FOR UPDATE SKIP LOCKED))',
        'LIMIT $2::int FOR UPDATE SKIP LOCKED) q)',
      ),
    ],
    tests: ['integration/kept-plans'],
  },
  'walks-all-groups': {
    about: 'goes through all delays with a group for the locks of a few',
    patches: [
      patch(
        'core/store/sql/claim.sql.ts',
        'FROM pg_catalog.unnest($1::bigint[]) AS w(id), LATERAL (\n    SELECT d.name, d.group_id FROM ${delay} d WHERE d.id = w.id ${STAYS_APART}\n  ) d JOIN',
        'FROM ${delay} d JOIN',
      ),
      patch(
        'core/store/sql/claim.sql.ts',
        'WHERE d.group_id IS NOT NULL',
        'WHERE d.id = ANY ($1::bigint[]) AND d.group_id IS NOT NULL',
      ),
    ],
    tests: ['integration/kept-plans'],
  },
  'compares-what-recurs': {
    about: 'compares each occurrence that ends with each that has moved',
    patches: [
      patch(
        'core/store/sql/recurrences.sql.ts',
        "from: 'written e',",
        "from: 'ending e JOIN written m USING (id)',",
      ),
    ],
    tests: ['integration/kept-plans'],
  },
  'leaves-out-of-one': {
    about: 'leaves out of one group alone, what others would have to give as well',
    patches: [patch(LINE, 'this.#byLength.longest(share)', 'undefined')],
    tests: ['unit/worker/ready-queue', 'integration/engine/held-groups'],
  },
  'has-no-room-for-who-may': {
    about: 'keeps whoever waits for its limit in the place of a group that may run',
    patches: [patch(LINE, '!isCrowded && own?.isThrottled === true', '!isCrowded')],
    tests: ['unit/worker/ready-queue'],
  },
  'counts-what-is-held': {
    about: 'takes those that wait for limits of their groups for enough',
    patches: [
      patch(
        'core/worker/timer-queue.ts',
        'this.ready.size - this.ready.throttled <',
        'this.ready.size <',
      ),
    ],
    tests: ['integration/engine/held-groups'],
  },
  'passes-by-with-passes': {
    about: 'fetches what is behind a crowd no sooner than a pass comes',
    patches: [
      patch(PASS_BY, 'isSoon ? Math.min(restMs, everyMs) : everyMs', 'isSoon ? everyMs : everyMs'),
    ],
    tests: ['integration/engine/held-groups'],
  },
  'asks-who-waits': {
    about: 'asks each group that waits for its limit, for each delay that runs',
    patches: [patch(LINE, "if (answer === 'group throttled') this.#setAside(group);", '')],
    tests: ['unit/worker/full-groups', 'unit/worker/ready-queue'],
  },
  'looks-at-all-blocks': {
    about: 'looks at each limit that has no place, for each delay that runs',
    patches: [
      patch(
        'core/worker/admission.ts',
        'pauseLeftMs: claim.pacedUntilMs - nowMs }',
        'pauseLeftMs: Math.min(claim.pacedUntilMs - nowMs, this.throttles.leftMs()) }',
      ),
    ],
    tests: ['unit/worker/full-groups'],
  },
  'forgets-who-stands-aside': {
    about: 'lets a group stand aside although its limit is over',
    patches: [
      patch(
        'core/worker/fair-queue.ts',
        'lane.queueOf(name)?.release(group)',
        'lane.queueOf(name)',
      ),
    ],
    tests: ['unit/worker/ready-queue'],
  },
  'fills-gaps': {
    about: 'takes what comes behind something that was left out',
    patches: [patch('core/worker/fair-queue.ts', 'this.#groups.has(group)', 'false')],
    tests: ['unit/worker/ready-queue', 'integration/engine/held-groups'],
  },
  'has-enough-for-a-while': {
    about: 'takes again what comes of a group that had enough, in the same walk',
    patches: [
      patch('core/worker/skip-ahead.ts', 'return { butNotOf: [...groups] };', 'return room;'),
    ],
    tests: ['unit/worker/passes'],
  },
  'passes-by-from-the-middle': {
    about: 'goes on with a pass behind which others were left out meanwhile',
    patches: [
      patch(
        'core/worker/scanner.ts',
        "      this.#begin('own');\n    }\n    return Math.min",
        '    }\n    return Math.min',
      ),
    ],
    tests: ['integration/engine/scanner'],
  },
};
