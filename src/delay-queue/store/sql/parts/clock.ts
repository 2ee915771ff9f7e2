import { type Tables, wholeMs } from '../../tables/schema.js';
import { HELD_MAX_MS, type LockWait } from './lock-wait.js';

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
