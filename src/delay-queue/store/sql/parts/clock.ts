import { wholeMs } from '../../tables/schema.js';
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
}

/** CTE `clock`: the database's clock, read once per statement. */
export function clock({ whole = false, waitsMs }: Clock = {}): string {
  const limit =
    waitsMs === undefined ? [] : [`set_config('lock_timeout', '${waitsMs}', true) AS lock_timeout`];
  if (!whole) {
    return `clock AS MATERIALIZED (SELECT ${['clock_timestamp() AS now', ...limit].join(', ')})`;
  }
  return `clock AS MATERIALIZED (
  SELECT ${['now', `${wholeMs('now')} AS whole`, ...limit].join(', ')}
  FROM clock_timestamp() AS now
)`;
}

/** CTE `clock` of a statement that meets held rows in that way. */
export const clockOf = (lockWait: LockWait): string =>
  clock({ waitsMs: lockWait === 'a while' ? HELD_MAX_MS : undefined });
