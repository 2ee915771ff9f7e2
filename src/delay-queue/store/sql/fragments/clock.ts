import { type Tables, wholeMs } from '../../../database/tables.js';

/**
 * How a statement meets a row, or a key, that another session has in an open transaction:
 *
 * - `waits`: as any statement does, for as long as it takes.
 * - `a while`: the same for `HELD_MAX_MS`, and fails with 55P03 then. Only for a transaction of our own, for
 *   the limit is set for the rest of it.
 * - `at once`: takes it for changed, and the caller looks again.
 */
export type LockWait = 'waits' | 'a while' | 'at once';

/**
 * For so long a write may wait for a session that holds its row. Longer than any transaction should take, and
 * the end of two that wait for each other where Postgres cannot see it: of one process, or between looks.
 */
export const HELD_MAX_MS = 10_000;

/** What stands in the CTE `clock` beside `now`. */
interface Clock {
  /**
   * Also `whole`: rounded up once to what a JavaScript `Date` holds. Durations are whole milliseconds, and
   * what is due after one is then whole as well. Every expression that is repeated per column is planned again
   * with each statement, which is most of a small one's time.
   */
  whole?: boolean;
  /**
   * Also `lock_timeout`, a column that limits the waits for locks to the end of the transaction: no session is
   * changed, not even a pooler's. Only in a transaction of our own.
   */
  waitsMs?: number | undefined;
  /** Further columns, with their names. */
  more?: readonly string[];
}

type Now = Pick<Tables, 'now'>;

/** CTE `clock`: the clock, read once per statement. */
export function clock({ now }: Now, { whole = false, waitsMs, more = [] }: Clock = {}): string {
  const limit = [
    ...(waitsMs === undefined
      ? []
      : [`pg_catalog.set_config('lock_timeout', '${waitsMs}', true) AS lock_timeout`]),
    ...more,
  ];
  if (!whole) {
    return `clock AS MATERIALIZED (SELECT ${[`${now} AS now`, ...limit].join(', ')})`;
  }
  return `clock AS MATERIALIZED (
  SELECT ${['now', `${wholeMs('now')} AS whole`, ...limit].join(', ')}
  FROM ${now} AS now
)`;
}

/** CTE `clock` of a statement that meets held rows in that way. */
export const clockOf = (tables: Now, lockWait: LockWait, more: readonly string[] = []): string =>
  clock(tables, { waitsMs: lockWait === 'a while' ? HELD_MAX_MS : undefined, more });

/**
 * SQL for this moment in what nodes say of themselves, where there is a CTE `clock`. It is the database's clock in tests
 * too: whether a node lives is seen by others, which know of no test.
 */
export const nodesNow = ({ isTested }: Pick<Tables, 'isTested'>): string =>
  isTested ? 'pg_catalog.clock_timestamp()' : 'clock.now';

/** SQL for an instant that a node has said of itself, as this clock would have told it. */
export const saidAt = (instant: string, { isTested }: Pick<Tables, 'isTested'>): string =>
  isTested ? `${instant} + (clock.now - pg_catalog.clock_timestamp())` : instant;

/*
 * What is written for the planner alone. It keeps plans of prepared statements, made for a table of a few rows and
 * arrays of ten, and may compare each with each when there are millions (ADR 0017). Each of these looks as if it
 * could be left out. Where a spec is named, it was seen to fail without.
 */

/**
 * True of all that `of` wants. The planner expects it of one in 200, and so goes to each row that was found by
 * its ctid; for thousands it would rather read the table. Proof: `test/integration/plans.spec.ts`.
 */
export const expectFew = (of: string): string => `${of}.id % 1::bigint = 0`;

/**
 * Condition for the row of the delay `d` that `of` has the id of, in an UPDATE or DELETE. As an equality it
 * could be a join that reads the whole table; this is an index look-up for each. Proof:
 * `test/integration/plans.spec.ts`, `test/integration/kept-plans.spec.ts`.
 */
export const isRowOf = (of: string): string => `d.id = ANY (ARRAY[${of}.id])`;

/**
 * What became of each of `input`. A FULL JOIN is hashed or merged, never one that compares each with each. No spec
 * tells it from a LEFT JOIN: the planner may compare each with each there, and does not in our tables.
 */
export const besideInput = (...ctes: [cte: string, alias: string][]): string =>
  ['input i', ...ctes.map(([cte, alias]) => `FULL JOIN ${cte} ${alias} USING (ord)`)].join(' ');

/**
 * At the end of a sub-select: it stays one, and is not merged with what is around it. Proof:
 * `test/integration/plans.spec.ts`.
 */
export const STAYS_APART = 'OFFSET 0';

/**
 * A condition of which the planner does not know how often it is true. It takes a bare `=` to keep one row in 200,
 * and to find a page of those it would read and sort the whole range instead of stopping at the LIMIT. No spec fails
 * without it.
 */
export const expectMany = (condition: string): string => `COALESCE(${condition}, false)`;
