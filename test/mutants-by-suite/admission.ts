import { type Mutant, patch } from './mutant.js';

const ADMISSION = 'core/worker/admission.ts';
const LOOP = 'core/worker/loop.ts';
const NAME = 'core/worker/name-state.ts';
const tests = ['unit/worker/admission'];

/** Ways to claim more of a name than may run, or to hold it back for no reason. */
export const ADMITTED: Readonly<Record<string, Mutant>> = {
  'counts-no-running-calls': {
    about: 'gives as many slots as the concurrency, whatever runs',
    patches: [
      patch(
        'core/worker/allowance.ts',
        'const slots = concurrency - name.running;',
        'const slots = concurrency;',
      ),
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
    patches: [patch(NAME, 'Math.max(0, most - this.prefetched)', 'most')],
    tests,
  },
  'fills-up-alone': {
    about: 'prefetches for each name in a claim of its own, although one is going out',
    patches: [patch(NAME, ' && !isAsked', '')],
    tests: ['unit/worker/admission', 'unit/worker/connection-turns'],
  },
  'prefetches-beside-stalled': {
    about: 'prefetches delays into slots for which stalled ones take turns',
    patches: [patch('core/worker/allowance.ts', 'name.stalledDue > 0 ? 0 : ', '')],
    tests,
  },
  'throttles-by-another-clock': {
    about: 'compares the end of a throttle with a clock that is not its own',
    patches: [
      patch('core/worker/allowance.ts', 'untilMs > terms.limitsNowMs', 'untilMs > terms.nowMs'),
    ],
    tests,
  },
  'begins-any-batch': {
    about: 'begins a batch that is not full without a pause',
    patches: [
      patch(
        'core/worker/allowance.ts',
        'full === 0 && nextBatchMs(name, 0, nowMs) <= nowMs',
        'full === 0',
      ),
    ],
    tests,
  },
  'runs-by-the-second-answer': {
    about: 'claims more of a name that runs one at a time while a claim is in flight',
    patches: [
      patch('core/worker/allowance.ts', 'concurrency === 1 && name.asked > 0', 'name.asked < 0'),
    ],
    tests,
  },
  'begins-while-it-cools-down': {
    about: 'claims a name of which a thousand handlers overran their timeout',
    patches: [patch('core/worker/allowance.ts', 'if (name.mustCoolDown)', 'if (name.asked < 0)')],
    tests,
  },
  'lends-connections-twice': {
    about: 'gives each transactional name all connections of the pool',
    patches: [patch(NAME, '!this.#kept.delete(name) && this.#isFull', 'this.#held < 0')],
    tests: ['unit/worker/slot-keeper'],
  },
  'serves-only-its-own-name': {
    about: 'gives a connection to the next call of the same name, although others wait longer',
    patches: [
      patch(
        LOOP,
        'if (connections !== undefined) return this.#beginInTurn(connections);',
        'if (connections !== undefined) name.isBeginning = false;',
      ),
    ],
    tests: ['unit/worker/connection-turns'],
  },
  'lets-in-only-what-waits': {
    about:
      'gives no connection to a name whose delays may not be prefetched, while others have some',
    patches: [patch(ADMISSION, 'dealing.slots > 0 && name.prefetched === 0', 'dealing.slots < 0')],
    tests: ['unit/worker/connection-turns'],
  },
  'keeps-connections-idle': {
    about: 'keeps a connection for a name of which nothing could be claimed',
    patches: [patch(LOOP, '    connections.keepNone();\n', '')],
    tests: ['unit/worker/connection-turns'],
  },
  'prefetches-as-if-alone': {
    about: 'prefetches as many of each transactional name as if it had all connections',
    patches: [patch(NAME, '(turns * this.meanMs)', 'this.meanMs')],
    tests: ['unit/worker/connection-turns', 'unit/worker/admission'],
  },
  'leases-without-the-wait': {
    about: 'claims a transactional delay for its timeout alone, although its call may wait',
    patches: [
      patch('core/handlers/handler-settings.ts', 'timeoutMs + 2 * WAITS_MAX_MS', 'timeoutMs'),
    ],
    tests: ['unit/handlers/handlers'],
  },
};
