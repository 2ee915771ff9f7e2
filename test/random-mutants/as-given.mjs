import Sequencer from '@jest/test-sequencer';

/** The order of `SPECS`, a list in JSON. */
export default class AsGiven extends Sequencer {
  sort(tests) {
    const ranks = new Map(JSON.parse(process.env.SPECS).map((path, rank) => [path, rank]));
    const rankOf = ({ path }) => ranks.get(path) ?? ranks.size;
    // oxlint-disable-next-line unicorn/no-array-sort -- a copy
    return [...tests].sort((one, other) => rankOf(one) - rankOf(other));
  }
}
