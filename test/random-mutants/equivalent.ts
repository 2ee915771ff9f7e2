import type { Description } from './change.js';

/** A mutant that no test can tell from the library, and why. */
export type Equivalent = Omit<Description, 'line'> & { why: string };

/** Those that were drawn and judged so far. */
export const EQUIVALENT: readonly Equivalent[] = [
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
];
