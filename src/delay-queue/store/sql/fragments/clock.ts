import { type Tables, wholeMs } from '../../../database/tables.js';

/**
 * How a statement meets a row or a key that another session has in an open transaction:
 *
 * - `waits`: as any statement, for as long as it takes.
 * - `a while`: waits for `HELD_MAX_MS`, then fails with 55P03. Only in a transaction of our own,
 *   because the limit holds for the rest of it.
 * - `at once`: treats it as changed, and the caller looks again.
 */
export type LockWait = 'waits' | 'a while' | 'at once';

/**
 * How long a write may wait for a session that holds its row: longer than any transaction should
 * take. It also ends deadlocks that Postgres cannot see, within one process or between looks.
 */
export const HELD_MAX_MS = 10_000;

/** What the CTE `clock` has besides `now`. */
interface Clock {
  /**
   * Also `whole`: `now` rounded up to what a JavaScript `Date` holds. Durations are whole
   * milliseconds, so a due time counted from it is whole as well. An expression repeated for each
   * column is planned again with each statement, which is most of a small statement's time.
   */
  whole?: boolean;
  /**
   * Also `lock_timeout`, a column that limits waits for locks until the transaction ends. The
   * session is not changed, not even a pooler's. Only in a transaction of our own.
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

/** CTE `clock` of a statement with that lock wait. */
export const clockOf = (tables: Now, lockWait: LockWait, more: readonly string[] = []): string =>
  clock(tables, { waitsMs: lockWait === 'a while' ? HELD_MAX_MS : undefined, more });

/**
 * SQL for now, for what nodes report of themselves; needs the CTE `clock`. It is the database's
 * clock even in tests: other nodes, which know of no test, judge whether a node lives.
 */
export const nodesNow = ({ isTested }: Pick<Tables, 'isTested'>): string =>
  isTested ? 'pg_catalog.clock_timestamp()' : 'clock.now';

/** SQL for an instant that a node reported of itself, moved to this clock. */
export const saidAt = (instant: string, { isTested }: Pick<Tables, 'isTested'>): string =>
  isTested ? `${instant} + (clock.now - pg_catalog.clock_timestamp())` : instant;

/*
 * Expressions for the planner alone. It keeps plans of prepared statements, made for a table of a
 * few rows and arrays of ten, and may compare each row with each when there are millions (ADR
 * 0017). Each looks as if it could be removed. Where a spec is named, that spec fails without it.
 */

/**
 * True for each row of `of`. The planner expects it for one in 200, and so fetches each found row
 * by its ctid; for thousands it would rather read the table. Proof:
 * `test/integration/plans.spec.ts`.
 */
export const expectFew = (of: string): string => `${of}.id % 1::bigint = 0`;

/**
 * Condition in an UPDATE or DELETE: `d` is the row with the id of `of`. An equality could become a
 * join that reads the whole table; this is one index lookup for each. Proof:
 * `test/integration/plans.spec.ts`, `test/integration/kept-plans.spec.ts`.
 */
export const isRowOf = (of: string): string => `d.id = ANY (ARRAY[${of}.id])`;

/**
 * The result of each item of `input`. A FULL JOIN is hashed or merged and never compares each row
 * with each. For a LEFT JOIN the planner may, but in our tables does not: no spec tells the two
 * apart.
 */
export const besideInput = (...ctes: [cte: string, alias: string][]): string =>
  ['input i', ...ctes.map(([cte, alias]) => `FULL JOIN ${cte} ${alias} USING (ord)`)].join(' ');

/** Keeps a sub-select apart from the outer query. Proof: `test/integration/plans.spec.ts`. */
export const STAYS_APART = 'OFFSET 0';

/**
 * Hides a condition's selectivity from the planner. It expects a bare `=` to keep one row in 200,
 * and then reads and sorts the whole range instead of stopping at the LIMIT. No spec fails without
 * this.
 */
export const expectMany = (condition: string): string => `COALESCE(${condition}, false)`;
