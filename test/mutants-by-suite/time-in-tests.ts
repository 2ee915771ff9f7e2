import { type Mutant, patch } from './mutant.js';

const CLOCK = 'core/store/sql/fragments/clock.ts';
const TESTED = ['integration/testing/one-clock', 'integration/testing/virtual-time'];

/** What `DelayTesting` promises of time, each with its mend taken out: a test has one clock, and it costs what it runs. */
export const TIME_IN_TESTS: Readonly<Record<string, Mutant>> = {
  'claims-by-another-clock': {
    about: 'claims, moves and ends delays in real time while a test lets time pass',
    patches: [patch(CLOCK, '[`${now} AS now`', '[`clock_timestamp() AS now`')],
    tests: TESTED,
  },
  'counts-by-another-clock': {
    about: 'counts `after` from real time',
    patches: [patch(CLOCK, '  FROM ${now} AS now\n', '  FROM clock_timestamp() AS now\n')],
    tests: ['integration/testing/one-clock'],
  },
  'schedules-by-another-clock': {
    about: "counts `after` from real time in a caller's transaction",
    patches: [
      patch(
        'core/store/tables/functions.ts',
        '_now timestamptz := ${tables.now};',
        '_now timestamptz := clock_timestamp();',
      ),
    ],
    tests: ['integration/testing/one-clock'],
  },
  'recurs-by-another-clock': {
    about: 'asks the real time for the first instant of a wall clock',
    patches: [
      patch('core/store/sql/recurrences.sql.ts', 'epochMs(now)', "epochMs('clock_timestamp()')"),
    ],
    tests: ['integration/testing/one-clock'],
  },
  'fills-rates-in-real-time': {
    about: 'waits for a rate by the clock of the process while a test lets time pass',
    patches: [patch('core/worker/wiring.ts', 'testClock && (() => testClock.nowMs()),', '')],
    tests: ['integration/testing/one-clock'],
  },
  'goes-on-while-handlers-run': {
    about: "lets the test's clock go on while what is due runs",
    patches: [
      patch(
        'core/worker/test-clock.ts',
        'this.#state = { standsMs: atMs, isSet, aheadMs: 0 };',
        'this.#state = { standsMs: atMs, isSet, aheadMs: 0 };\n    await this.store.flow(atMs);',
      ),
    ],
    tests: ['integration/testing/one-clock'],
  },
  'goes-on-though-it-was-set': {
    about: 'lets a clock that a test has set go on behind a call',
    patches: [
      patch('testing/time-travel.ts', 'if (!clock.isSet && !manual.isOver)', 'if (!manual.isOver)'),
    ],
    tests: ['integration/testing/one-clock'],
  },
  'clears-delays-alone': {
    about: 'keeps history, pauses and limits when a test begins anew',
    patches: [
      patch('core/store/sql/testing.sql.ts', 'table !== tables.node)', 'table === tables.delay)'),
    ],
    tests: TESTED,
  },
  'takes-nodes-for-dead': {
    about: "looks by a test's clock whether other nodes live",
    patches: [
      patch(CLOCK, "isTested ? 'pg_catalog.clock_timestamp()' : 'clock.now';", "'clock.now';"),
    ],
    tests: ['integration/testing/refusals'],
  },
  'tells-the-time-too-late': {
    about: 'tells a faked `Date` of a step when that has run',
    patches: [
      patch(
        'core/worker/test-clock.ts',
        'aheadMs: 0 };\n    this.#tell();',
        'aheadMs: 0 };\n    setTimeout(() => this.#tell(), 50);',
      ),
    ],
    tests: ['integration/testing/one-clock'],
  },
};
