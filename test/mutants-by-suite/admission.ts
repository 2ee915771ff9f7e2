import { type Mutant, patch } from './mutant.js';

const ADMISSION = 'worker/admission.ts';
const NAME = 'worker/name-state.ts';
const tests = ['unit/worker/admission'];

/** Ways to claim more of a name than may run, or to hold it back for no reason. */
export const ADMITTED: Readonly<Record<string, Mutant>> = {
  'counts-no-running-calls': {
    about: 'gives as many slots as the concurrency, whatever runs',
    patches: [
      patch(ADMISSION, 'const slots = concurrency - name.running;', 'const slots = concurrency;'),
    ],
    tests,
  },
  'refills-one-by-one': {
    about: 'prefetches again before half of the prefetched delays have begun',
    patches: [patch(NAME, 'this.prefetched * 2 > most', 'this.prefetched > most')],
    tests,
  },
  'prefetches-as-if-none-waited': {
    about: 'does not count the prefetched delays that wait',
    patches: [patch(NAME, '? 0 : most - this.prefetched', '? 0 : most')],
    tests,
  },
  'prefetches-beside-stalled': {
    about: 'prefetches delays into slots for which stalled ones take turns',
    patches: [patch(ADMISSION, 'name.stalledDue > 0 ? 0 : ', '')],
    tests,
  },
  'throttles-by-another-clock': {
    about: 'compares the end of a throttle with a clock that is not its own',
    patches: [patch(ADMISSION, 'untilMs > terms.limitsNowMs', 'untilMs > terms.nowMs')],
    tests,
  },
  'begins-any-batch': {
    about: 'begins a batch that is not full without a pause',
    patches: [patch(ADMISSION, 'full === 0 && nextBatchMs(name, 0, nowMs) <= nowMs', 'full === 0')],
    tests,
  },
  'runs-by-the-second-answer': {
    about: 'claims more of a name that runs one at a time while a claim is in flight',
    patches: [patch(ADMISSION, 'concurrency === 1 && name.asked > 0', 'name.asked < 0')],
    tests,
  },
  'begins-while-it-cools-down': {
    about: 'claims a name of which a thousand handlers overran their timeout',
    patches: [patch(ADMISSION, 'if (name.mustCoolDown)', 'if (name.asked < 0)')],
    tests,
  },
  'lends-connections-twice': {
    about: 'gives each transactional name all connections of the pool',
    patches: [
      patch(NAME, 'this.#transactional >= this.transactionalMax', 'this.#transactional < 0'),
    ],
    tests: ['unit/worker/slot-keeper'],
  },
};
