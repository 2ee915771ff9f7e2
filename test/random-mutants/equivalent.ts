import type { Description } from './change.js';

/** A mutant that no test can tell from the library, and why. */
export type Equivalent = Omit<Description, 'line'> & { why: string };

/** Those that were drawn and judged so far. */
export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'src/delay-queue/core/client/selections.ts',
    was: "const behind = place.among === 'ended' ? place.behind : undefined;",
    is: 'const behind = true ? place.behind : undefined;',
    why: 'a place among what lives has no `behind`',
  },
  {
    file: 'src/delay-queue/core/worker/scanner.ts',
    was: 'const isOld = performance.now() - this.#passBeganAtMs >= this.everyMs;',
    is: 'const isOld = performance.now() - this.#passBeganAtMs > this.everyMs;',
    why: 'a clock of fractions of a millisecond is never exactly there',
  },
  {
    file: 'src/delay-queue/core/store/sql/schedule.sql.ts',
    was: 'const INSERT_WAITS_MS_MAX = 10;',
    is: 'const INSERT_WAITS_MS_MAX = 9;',
    why: 'how long one waits for another call: a millisecond more or less',
  },
  {
    file: 'src/delay-queue/core/handlers/handler.explorer.ts',
    was: 'concurrency: true,',
    is: 'concurrency: false,',
    why: 'the keys of that object are used, and no value',
  },
  {
    file: 'src/delay-queue/core/transactions/transactions.ts',
    was: "return await despiteDeadlocks(() => manager.transaction((ours) => write(ours, { ...runnerOf(ours), transaction: 'ours' })), );",
    is: "return despiteDeadlocks(() => manager.transaction((ours) => write(ours, { ...runnerOf(ours), transaction: 'ours' })), );",
    why: 'the caller awaits it, and nothing here catches what it throws',
  },
  {
    file: 'src/delay-queue/core/transactions/transaction-guard.ts',
    was: 'this.#open += 1;',
    is: 'this.#open -= 1;',
    why: 'a COMMIT or ROLLBACK too many is refused by its text as well, with the same error',
  },
  {
    file: 'src/delay-queue/core/transactions/commit-hooks.ts',
    was: 'this.#subscribe();',
    is: ';',
    why: 'in hold(): each call of the library subscribes, and before the first one there is nothing to hear',
  },
  {
    file: 'src/delay-queue/core/worker/fenced-transaction.ts',
    was: 'return await this.#rollback(unbegun(error));',
    is: 'return this.#rollback(unbegun(error));',
    why: 'it stands in a catch, and the caller awaits it',
  },
  {
    file: 'src/delay-queue/core/worker/limits.ts',
    was: 'if (this.#isAsking && this.#freed.size < THROTTLES_MAX) this.#freed.add(key);',
    is: 'if (this.#freed.size < THROTTLES_MAX) this.#freed.add(key);',
    why: 'the set is emptied when a claim is sent, and read only when it is answered',
  },
  {
    file: 'src/delay-queue/core/cluster/listener.ts',
    was: "this.#present = rows[0]?.held === 'true';",
    is: "this.#present = rows[0].held === 'true';",
    why: 'the statement always answers one row, and an error there is ignored',
  },
  {
    file: 'src/delay-queue/core/api/adopted.ts',
    was: 'if (adoptedAnswer instanceof Promise) void adoptedAnswer.catch(() => {});',
    is: 'if (true) void adoptedAnswer.catch(() => {});',
    why: 'what is no promise throws there, and the catch around it ignores that',
  },
  {
    file: 'src/delay-queue/core/worker/manual-runs.ts',
    was: 'const COUNTED_EVERY_MS = 1_000;',
    is: 'const COUNTED_EVERY_MS = 100;',
    why: 'how often a wait looks again at what ends it by itself',
  },
  {
    file: 'src/delay-queue/core/store/sql/claim.sql.ts',
    was: "WHERE q.filled_at < (SELECT pg_catalog.clock_timestamp() - $1::float8 * interval '1 millisecond')",
    is: "WHERE q.filled_at <= (SELECT pg_catalog.clock_timestamp() - $1::float8 * interval '1 millisecond')",
    why: 'a clock of microseconds is never exactly there',
  },
];
