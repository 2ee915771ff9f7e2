import Sequencer from '@jest/test-sequencer';

/**
 * What takes longest, the longest first; how long is of no matter. Jest knows only where it has run before,
 * and goes by the size of a file in a fresh clone: there a worker ended a run alone with a long file.
 */
const LONG = [
  // Its looks walk the heap, in which the modules of all files before it stand.
  'integration/engine/growth',
  'e2e/race',
  'integration/interleavings/two-sessions',
  'integration/rerun-model',
  'integration/testing/stub-contract',
  'integration/engine/statement-sizes',
  'integration/engine/unreadable-rows',
  'integration/chaos-faults',
  'docs/classics',
  'page/orders',
  'impolite/impolite',
  'integration/engine/held-groups',
  'e2e/processes',
  'servers/failover',
  'integration/bench',
  'integration/mixed-versions',
  'servers/disk-full',
  'e2e/campaigns',
  'e2e/campaigns-crash',
  'cluster/ten-thousand',
  'cluster/shutdown-under-load',
  'cluster/rerun',
  // They compile.
  'unit/decorators/compiled',
  'docs/code-blocks',
  'docs/tables',
  'integration/half-open-callers',
  'integration/engine/full-wheel',
  'page/looks',
  'security/log-secrecy',
  'e2e/campaign-limits',
  'e2e/database-away',
  'page/processes',
  'integration/embedded-postgres',
  'integration/deadlocks',
  'cluster/orphaned',
  'integration/pauses',
  'docs/testing',
  'integration/recurrences/erring-estimate',
  'integration/catalogue/refusals',
];

const rankOf = ({ path }) => {
  const rank = LONG.findIndex((name) => path.endsWith(`/test/${name}.spec.ts`));
  return rank < 0 ? LONG.length : rank;
};

export default class LongestFirst extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- Jest's, which sorts a copy
    return super.sort(tests).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
