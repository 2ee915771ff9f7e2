import Sequencer from '@jest/test-sequencer';

/**
 * What takes longest, the longest first; how long is of no matter. Jest knows only where it has run before,
 * and goes by the size of a file in a fresh clone: there a worker ended a run alone with a long file.
 */
const LONG = [
  'impolite/impolite',
  'e2e/race',
  'integration/chaos-faults',
  'e2e/processes',
  'integration/bench',
  'integration/catalogue/refusals',
  'docs/classics',
  'e2e/campaigns-crash',
  'integration/interleavings/three-sessions',
  'servers/failover',
  'integration/embedded-postgres',
  'integration/half-open-callers',
  'integration/what-joins',
  'integration/memory-and-rows',
  'hostile/fatal-handlers',
  'integration/engine/lingering',
  'e2e/campaigns',
  'cluster/seized',
  'integration/engine/half-open',
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
