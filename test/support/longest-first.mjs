import Sequencer from '@jest/test-sequencer';

/**
 * What takes longest, the longest first; how long is of no matter. Jest knows only where it has run before,
 * and goes by the size of a file in a fresh clone: there a worker ended a run alone with a long file.
 */
const LONG = [
  'integration/interleavings/two-sessions',
  'integration/dashboard/refused-operations',
  'integration/dashboard/live',
  'integration/engine/statement-sizes',
  'integration/engine/held-groups',
  'integration/dashboard/tenants',
  'integration/recurrences/deployments',
  'hostile/wrong-options',
  'impolite/impolite',
  'integration/joined-transactions',
  'e2e/deadlines',
  'e2e/race',
  'integration/rerun-model',
  'integration/by-whom',
  'integration/kept-plans',
  'integration/engine/unreadable-rows',
  'security/foreign-owners',
  'integration/command-line/doctor',
  'integration/unfit-sessions',
  'e2e/processes',
  'cluster/rolling-deploy',
  'integration/engine/idle',
  'integration/health',
  'integration/testing/stub-contract',
  'cluster/crash',
  'hostile/keys.properties',
  'integration/coalescing/order',
  'integration/limits',
  // They compile.
  'unit/impolite/mutants',
  'unit/types/exports',
  'unit/decorators/compiled',
  'docs/code-blocks',
  'docs/tables',
  'dashboard-page/understand',
  'integration/chaos-faults',
  'integration/pauses',
  'security/planted-names',
  'e2e/one-trace',
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
