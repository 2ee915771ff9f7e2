import { type Mutant, patch } from './mutant.js';

const BATCHER = 'core/worker/batcher.ts';
const CLAIM_LIMITED = 'core/store/sql/claim.sql.ts';

const EXECUTION = 'core/transactions/transaction-guard.ts';

/** Holes that were found by reading, each with its mend taken out. */
export const MENDED: Readonly<Record<string, Mutant>> = {
  'tells-twice': {
    about: 'writes again what is written, when nobody can look at the rest of its statement',
    patches: [
      patch(
        BATCHER,
        'left = await this.#write(left);\n        if (left.length > 0) await this.#lookAfter(left);',
        'const missing = await this.#write(left);\n        if (missing.length > 0) await this.#lookAfter(missing);',
      ),
    ],
    tests: ['unit/worker/batcher'],
  },
  'completes-what-stands': {
    about: 'takes a row that still stands for one that it has removed',
    patches: [
      patch(BATCHER, 'return this.parts.removes !== true && !isClaimedInstead;', 'return true;'),
    ],
    tests: ['unit/worker/batcher'],
  },
  'quiet-has-the-deadlines': {
    about: 'keeps a deadline of calls that are over, which the next call finds taken',
    patches: [
      patch(
        'core/worker/executor.ts',
        'quietMs > 0 ? this.#quiet.set(',
        'quietMs > 0 ? this.#deadlines.set(',
      ),
    ],
    tests: ['integration/engine/overrunning'],
  },
  'takes-no-turn': {
    about: 'lets a write that shares no statement overtake those about its key',
    patches: [
      patch(
        'core/client/coalesced-writes.ts',
        "if (targets === 'all') return await call();",
        'return await call();',
      ),
    ],
    tests: ['integration/coalescing/order'],
  },
  'turns-when-encoded': {
    about: 'takes a turn for a schedule only when its payload is encoded',
    patches: [
      patch(
        'core/client/coalesced-writes.ts',
        'return this.inOrder([delay], async () => {\n      await ready;\n      return await this.#run(coalescer, delay, FREE);\n    });',
        'return ready.then(() => this.#run(coalescer, delay));',
      ),
    ],
    tests: ['integration/coalescing/order'],
  },
  'overtakes-who-waits': {
    about: 'gives the one place of a name to a claim, while others wait for it',
    patches: [patch('core/worker/admission.ts', '(dealing.isQueued && mayWait)', 'false')],
    tests: ['unit/worker/slot-keeper'],
  },
  'empties-by-the-clock': {
    about: 'takes from a bucket what a clock was set back',
    patches: [patch(CLAIM_LIMITED, 'GREATEST(0, ${epochMs', 'LEAST(1e15, ${epochMs')],
    tests: ['integration/limits'],
  },
  'waits-for-half-a-bucket': {
    about: 'waits for a rate that has room, since another limit has none',
    patches: [
      patch(CLAIM_LIMITED, 'u.burst > 0::float8 AND u.left_of < 1::float8', 'u.burst > 0::float8'),
    ],
    tests: ['integration/limits'],
  },
  'keeps-permits': {
    about: 'deletes no permit of what is over',
    patches: [patch(CLAIM_LIMITED, 'LIMIT $1::int FOR UPDATE', 'LIMIT 0 * $1::int FOR UPDATE')],
    tests: ['integration/limits'],
  },
  'waits-for-a-new-key': {
    about: 'waits without a limit for a key that somebody is inserting',
    patches: [
      patch(
        'core/store/sql/schedule.sql.ts',
        "clock(tables, { whole: true, waitsMs: LIMITS_MS['a while'] })",
        'clock(tables, { whole: true })',
      ),
    ],
    tests: ['integration/deadlocks'],
  },
  'believes-an-empty-commit': {
    about: 'looks at the end of a transaction only where it has written something',
    patches: [
      patch(
        'core/transactions/commit-hooks.ts',
        'if (isInside(runner, parameters)) this.#pendingOf(runner);\n    else {',
        'if (!isInside(runner, parameters)) {',
      ),
    ],
    tests: ['integration/memory-and-rows'],
  },
  'moves-on-by-hand': {
    about: 'does not hear of a move that is rolled back in plain SQL',
    patches: [
      patch(
        'core/transactions/commit-hooks.ts',
        'if (runner !== undefined) this.#ends.leave(runner, { rolledBack });',
        'if (runner?.isTransactionActive) this.#ends.leave(runner, { rolledBack });',
      ),
    ],
    tests: ['integration/own-key-transactions'],
  },
  'believes-a-dead-session': {
    about: 'takes a move for done whose session ended before its COMMIT',
    patches: [
      patch(
        'core/transactions/commit-hooks.ts',
        "if (end !== 'committed') rolledBack?.();",
        "if (end === 'rolled back') rolledBack?.();",
      ),
    ],
    tests: ['integration/own-key-transactions'],
  },
  'watches-no-own-session': {
    about: 'does not hear of the end of a session that the library began a transaction on',
    patches: [
      patch('core/transactions/commit-hooks.ts', 'SessionWatch.beginIfConnected(runner);', ''),
    ],
    tests: ['integration/own-key-transactions'],
  },
  'refuses-half': {
    about: 'refuses to move its own row on when the others of the list are written',
    patches: [
      patch(
        'core/client/self-reschedules.ts',
        '[{ index, attempt, delay: goneOn(attempt, delay) }]',
        '[{ index, attempt, delay }]',
      ),
      patch(
        'core/client/self-reschedules.ts',
        'await this.schedule(attempt, manager, runner, delay)',
        'await this.schedule(attempt, manager, runner, goneOn(attempt, delay))',
      ),
    ],
    tests: ['integration/recurrences/own-key'],
  },
  'cancels-before-it-refuses': {
    about: 'refuses a snapshot when the first look has cancelled what waits',
    patches: [
      patch(
        'core/client/delay-client.ts',
        'await cancel(targets, () => this.#aborts.refuseSnapshots(transaction));',
        'await cancel(targets);',
      ),
    ],
    tests: ['integration/abort/callers'],
  },
  'filters-see-halves': {
    about: 'looks for what matches beside a call that takes back what it wrote',
    patches: [patch('core/transactions/calls-in-order.ts', '? [...this.#last.values()]', '? []')],
    tests: ['integration/parallel-branches'],
  },
  'throws-as-the-driver-does': {
    about: 'gives the error of a pool without connections as it is',
    patches: [
      patch(
        'core/database/borrowed-connection.ts',
        "throw new DelayUnavailableError(`the application's pool had no connection${why}`, error);",
        'throw error;',
      ),
    ],
    tests: ['integration/half-open-callers'],
  },
  'leaves-it-open': {
    about: 'takes a savepoint for never begun, of which a subscriber threw',
    patches: [
      patch(
        EXECUTION,
        'if (transactionDepth(this.runner) === before) this.#open -= 1;',
        'this.#open -= 1;',
      ),
      patch(EXECUTION, 'this.#open > 0 || transactionDepth(this.runner) > 1', 'this.#open > 0'),
    ],
    tests: ['integration/handlers-transaction/commit'],
  },
  'ends-by-a-listener': {
    about: 'lets a listener that rejects end the process',
    patches: [
      patch(
        'core/api/events.ts',
        'ignoreRejection(Reflect.apply(listener, this, args));',
        'Reflect.apply(listener, this, args);',
      ),
    ],
    tests: ['unit/handlers/on-delay-event'],
  },
  'stands-still-with-the-locks': {
    about: 'holds the locks of limits for as long as a process stands still',
    patches: [
      patch(
        'core/store/sql/claim.sql.ts',
        "'idle_in_transaction_session_timeout', '${IDLE_MS_MAX}'",
        "'idle_in_transaction_session_timeout', '0'",
      ),
    ],
    tests: ['integration/limited-claims'],
  },
  'reads-all-groups': {
    about: 'reads the permits of all groups for a claim of one',
    patches: [
      patch(
        CLAIM_LIMITED,
        'WHERE name = m.name AND group_id = m.group_id OFFSET 0',
        "WHERE name = m.name AND group_id || '' = m.group_id OFFSET 0",
      ),
    ],
    tests: ['integration/limited-claims'],
  },
  'never-begins-a-pass-anew': {
    about: 'goes on with a pass for as long as a backlog takes',
    patches: [patch('core/worker/scanner.ts', 'if (isAnew || isOld)', 'if (isAnew)')],
    tests: ['unit/worker/scanner'],
  },
  'takes-any-end-for-its-own': {
    about: 'takes the end of any group for that of the one that is full',
    patches: [
      patch(
        'core/worker/limits.ts',
        'this.#freed.size < THROTTLES_MAX) this.#freed.add(key);',
        "this.#freed.size < THROTTLES_MAX) this.#freed.add(key).add(groupText('test.limited', 'g'));",
      ),
    ],
    tests: ['unit/worker/throttles'],
  },
  'begins-after-its-lease': {
    about: 'begins a handler whose lease ended while its payload was read',
    patches: [
      patch(
        'core/worker/invoke.ts',
        'call.over || call.leaseEndsAtMs <= performance.now()',
        'call.over',
      ),
    ],
    tests: ['unit/worker/attempt'],
  },
  'asks-once': {
    about: 'does not ask again whether sessions stay with their connections',
    patches: [
      patch(
        'core/cluster/listener.ts',
        "if (this.hearing === 'unknown') await this.#learnAgain();",
        '',
      ),
    ],
    tests: ['integration/engine/late-listener'],
  },
  'closes-half-a-start': {
    about: 'closes while it starts',
    patches: [
      patch('core/engine/engine.ts', 'if (this.#starting === undefined) return;', 'return;'),
    ],
    tests: ['integration/engine/odd-starts'],
  },
  'stood-still-is-silent': {
    about: 'takes LISTEN for dead when its own process stood still while the answer came',
    patches: [
      patch(
        'core/cluster/hearing.ts',
        'setTimeout(() => setImmediate(() => own === timer && decide(then)), PROBE_MS)',
        'setTimeout(() => decide(then), PROBE_MS)',
      ),
    ],
    tests: ['integration/engine/session-probe'],
  },
  'waits-by-floats': {
    about: 'waits a millisecond longer for a token when the wait is not a whole number',
    patches: [
      patch(
        CLAIM_LIMITED,
        '`pg_catalog.round((${tokensOrMs})::numeric, 9)::float8`',
        '`(${tokensOrMs})`',
      ),
    ],
    tests: ['integration/testing/virtual-time'],
  },
};
